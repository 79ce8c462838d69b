CREATE TABLE `booked_blocks` (
	`network` text NOT NULL,
	`number` integer NOT NULL,
	`hash` text NOT NULL,
	`vaults` text DEFAULT '[]' NOT NULL,
	PRIMARY KEY(`network`, `number`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `followers` (
	`network` text PRIMARY KEY NOT NULL,
	`booked_block` integer NOT NULL,
	`booked_hash` text NOT NULL,
	`head_block` integer NOT NULL,
	`read_through` integer NOT NULL,
	`read_at` integer NOT NULL,
	`checked_did` text DEFAULT '' NOT NULL
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
ALTER TABLE `escrows` ADD `provider_hash` text DEFAULT '' NOT NULL;--> statement-breakpoint
CREATE INDEX `escrows_by_provider_hash` ON `escrows` (`provider_hash`,`network`);