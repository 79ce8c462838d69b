CREATE TABLE `key_acts` (
	`network` text NOT NULL,
	`tx_hash` text NOT NULL,
	`log_index` integer NOT NULL,
	`block_number` integer NOT NULL,
	`mined_at` integer NOT NULL,
	`authority` text NOT NULL,
	`operation_id` text,
	`nonce` integer,
	`caller` text,
	`target` text,
	`data` text,
	`ready_at` integer,
	`asked` integer NOT NULL,
	`ended_block` integer,
	PRIMARY KEY(`network`, `tx_hash`, `log_index`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `key_acts_waiting` ON `key_acts` (`network`,`asked`,`ready_at`,`tx_hash`,`log_index`) WHERE operation_id is not null and ended_block is null;--> statement-breakpoint
ALTER TABLE `followers` ADD `began_block` integer DEFAULT 0 NOT NULL;