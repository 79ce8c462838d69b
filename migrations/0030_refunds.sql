CREATE TABLE `refunds` (
	`network` text NOT NULL,
	`block_number` integer NOT NULL,
	`tx_hash` text NOT NULL,
	`log_index` integer NOT NULL,
	`settlement_key` text NOT NULL,
	`payer` text NOT NULL,
	`amount` integer NOT NULL,
	`mined_at` integer NOT NULL,
	PRIMARY KEY(`network`, `block_number`, `tx_hash`, `log_index`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `refunds_by_settlement` ON `refunds` (`network`,`settlement_key`);