DROP INDEX `transactions_by_settlement`;--> statement-breakpoint
ALTER TABLE `transactions` ADD `reversed_at` integer;--> statement-breakpoint
CREATE INDEX `transactions_reversed_sold` ON `transactions` (`provider_platform_id`,`settled_at`) WHERE reversed_at is not null;--> statement-breakpoint
CREATE INDEX `transactions_reversed_bought` ON `transactions` (`consumer_platform_id`,`settled_at`) WHERE reversed_at is not null;--> statement-breakpoint
CREATE UNIQUE INDEX `transactions_by_settlement` ON `transactions` (`network`,`tx_hash`,`log_index`) WHERE reversed_at is null;--> statement-breakpoint
CREATE TABLE `__new_receipts` (
	`network` text NOT NULL,
	`block_number` integer NOT NULL,
	`transaction_id` text NOT NULL,
	`receipt` text NOT NULL,
	PRIMARY KEY(`network`, `block_number`, `transaction_id`)
);
--> statement-breakpoint
INSERT INTO `__new_receipts` (`network`, `block_number`, `transaction_id`, `receipt`)
	SELECT x.`network`, x.`block_number`, r.`transaction_id`, r.`receipt` FROM `receipts` r JOIN `transactions` x ON x.`transaction_id` = r.`transaction_id` ORDER BY x.`settled_at`, x.`transaction_id`;--> statement-breakpoint
DROP TABLE `receipts`;--> statement-breakpoint
ALTER TABLE `__new_receipts` RENAME TO `receipts`;--> statement-breakpoint
ALTER TABLE `followers` ADD `checked_receipt` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
UPDATE `followers` SET `checked_receipt` = (SELECT coalesce(max(`rowid`), 0) FROM `receipts`);--> statement-breakpoint
ALTER TABLE `payment_intents` ADD `lost_tx` text;--> statement-breakpoint
ALTER TABLE `payment_intents` ADD `lost_log` integer;--> statement-breakpoint
CREATE INDEX `payment_intents_lost` ON `payment_intents` (`lost_tx`) WHERE lost_tx is not null;--> statement-breakpoint
ALTER TABLE `spend_ledger` ADD `intent_id` text DEFAULT '' NOT NULL;--> statement-breakpoint
ALTER TABLE `tasks` ADD `provider_rated_by` text;--> statement-breakpoint
ALTER TABLE `tasks` ADD `consumer_rated_by` text;