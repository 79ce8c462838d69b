CREATE TABLE `account_volumes` (
	`platform_id` text PRIMARY KEY NOT NULL,
	`day` integer NOT NULL,
	`sandbox_events` integer NOT NULL,
	`sandbox_deliveries` integer NOT NULL,
	`sandbox_bytes` integer NOT NULL,
	`production_events` integer NOT NULL,
	`production_deliveries` integer NOT NULL,
	`production_bytes` integer NOT NULL,
	`mails` integer NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
ALTER TABLE `platforms` ADD `volume_marks` text;--> statement-breakpoint
ALTER TABLE `webhook_deliveries` ADD `event_seq` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `webhook_queue` ADD `event_seq` integer DEFAULT 0 NOT NULL;