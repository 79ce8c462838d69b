ALTER TABLE `payment_intents` ADD `payer` text;--> statement-breakpoint
ALTER TABLE `payment_intents` ADD `lost_until` integer;--> statement-breakpoint
ALTER TABLE `payment_intents` ADD `sent_by` text;--> statement-breakpoint
ALTER TABLE `payment_intents` ADD `sent_nonce` integer;--> statement-breakpoint
CREATE INDEX `payment_intents_waiting` ON `payment_intents` (`network`) WHERE lost_until is not null and status = 'OPEN';