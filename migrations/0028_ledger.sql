CREATE TABLE `booked_blocks` (
	`network` text NOT NULL,
	`number` integer NOT NULL,
	`hash` text NOT NULL,
	`vaults` text DEFAULT '[]' NOT NULL,
	PRIMARY KEY(`network`, `number`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `edition_moves` (
	`did` text NOT NULL,
	`environment` text NOT NULL,
	`network` text NOT NULL,
	`planned_at` integer NOT NULL,
	PRIMARY KEY(`did`, `environment`, `network`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `followers` (
	`network` text PRIMARY KEY NOT NULL,
	`booked_block` integer NOT NULL,
	`booked_hash` text NOT NULL,
	`booked_at` integer DEFAULT 0 NOT NULL,
	`head_block` integer NOT NULL,
	`read_through` integer NOT NULL,
	`read_at` integer NOT NULL,
	`checked_did` text DEFAULT '' NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `registered_editions` (
	`network` text PRIMARY KEY NOT NULL,
	`contract` text NOT NULL,
	`planned_at` integer NOT NULL,
	`plans` integer NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `ledger_differences` (
	`network` text NOT NULL,
	`did` text NOT NULL,
	`contract` text NOT NULL,
	`held` integer NOT NULL,
	`expected` integer NOT NULL,
	`block_number` integer NOT NULL,
	`found_at` integer NOT NULL,
	PRIMARY KEY(`network`, `did`, `contract`, `held`, `expected`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `ledger_differences_newest` ON `ledger_differences` (`found_at`);--> statement-breakpoint
CREATE TABLE `ledger_lines` (
	`network` text NOT NULL,
	`tx_hash` text NOT NULL,
	`log_index` integer NOT NULL,
	`did` text NOT NULL,
	`contract` text NOT NULL,
	`kind` text NOT NULL,
	`amount` integer NOT NULL,
	`held` integer NOT NULL,
	`deposited` integer NOT NULL,
	`block_number` integer NOT NULL,
	`block_hash` text NOT NULL,
	`mined_at` integer NOT NULL,
	`number` integer NOT NULL,
	`reversed` integer DEFAULT false NOT NULL,
	PRIMARY KEY(`network`, `tx_hash`, `log_index`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE UNIQUE INDEX `ledger_lines_by_vault` ON `ledger_lines` (`did`,`network`,`contract`,`number`) WHERE reversed = 0;--> statement-breakpoint
DROP INDEX `escrows_by_edition`;--> statement-breakpoint
ALTER TABLE `escrows` DROP COLUMN `elsewhere`;--> statement-breakpoint
DROP INDEX `payment_intents_open_pair`;--> statement-breakpoint
DROP INDEX `payment_intents_by_provider`;--> statement-breakpoint
ALTER TABLE `payment_intents` ADD `terms` text DEFAULT '' NOT NULL;--> statement-breakpoint
ALTER TABLE `payment_intents` ADD `payment_tx` text;--> statement-breakpoint
ALTER TABLE `payment_intents` ADD `payment_log` integer;--> statement-breakpoint
ALTER TABLE `payment_intents` ADD `payment_block` integer;--> statement-breakpoint
ALTER TABLE `payment_intents` ADD `paid_at` integer;--> statement-breakpoint
ALTER TABLE `payment_intents` ADD `spent_at` integer;--> statement-breakpoint
CREATE INDEX `payment_intents_by_terms` ON `payment_intents` (`terms`,`created_at`) WHERE transaction_id is null;--> statement-breakpoint
CREATE INDEX `payment_intents_paid` ON `payment_intents` (`network`,`paid_at`) WHERE status = 'PAID' and spent_at is null;--> statement-breakpoint
CREATE UNIQUE INDEX `payment_intents_by_payment` ON `payment_intents` (`payment_tx`,`payment_log`,`network`) WHERE payment_tx is not null;--> statement-breakpoint
CREATE INDEX `payment_intents_by_provider` ON `payment_intents` (`provider_did`,`consumer_did`,`opened_by`,`expires_at`) WHERE status in ('OPEN', 'PAID') and spent_at is null;--> statement-breakpoint
ALTER TABLE `agents` ADD `did_hash` text DEFAULT '' NOT NULL;--> statement-breakpoint
CREATE INDEX `agents_by_did_hash` ON `agents` (`did_hash`) WHERE did_hash <> '';--> statement-breakpoint
ALTER TABLE `spend_holds` ADD `network` text DEFAULT '' NOT NULL;--> statement-breakpoint
UPDATE `escrows` SET `balance` = `contributed`;--> statement-breakpoint
UPDATE `spend_holds` SET `network` = coalesce((SELECT `network` FROM `payment_intents` WHERE `payment_intents`.`intent_id` = `spend_holds`.`intent_id`), '');
