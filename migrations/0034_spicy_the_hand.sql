CREATE TABLE `network_standings` (
	`network` text PRIMARY KEY NOT NULL,
	`sent_at` integer DEFAULT 0 NOT NULL,
	`behind_since` integer,
	`low_gas_until` integer DEFAULT 0 NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
ALTER TABLE `followers` ADD `paused` integer DEFAULT false NOT NULL;