CREATE TABLE `refund_addresses` (
	`network` text NOT NULL,
	`block_number` integer NOT NULL,
	`tx_hash` text NOT NULL,
	`log_index` integer NOT NULL,
	`contract` text NOT NULL,
	`settlement_key` text NOT NULL,
	`refund_to` text NOT NULL,
	PRIMARY KEY(`network`, `block_number`, `tx_hash`, `log_index`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `refund_addresses_by_settlement` ON `refund_addresses` (`network`,`settlement_key`,`contract`,`block_number`);