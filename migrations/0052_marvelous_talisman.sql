CREATE TABLE `webhook_deliveries` (
	`webhook_id` text NOT NULL,
	`delivery_id` text NOT NULL,
	`event_id` text NOT NULL,
	`event_type` text NOT NULL,
	`status` text NOT NULL,
	`next_at` integer,
	`attempts` text NOT NULL,
	`body` text NOT NULL,
	PRIMARY KEY(`webhook_id`, `delivery_id`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `webhook_endpoints` (
	`webhook_id` text PRIMARY KEY NOT NULL,
	`platform_id` text NOT NULL,
	`environment` text NOT NULL,
	`url` text NOT NULL,
	`event_types` text NOT NULL,
	`description` text,
	`status` text NOT NULL,
	`disabled_cause` text,
	`secret` text NOT NULL,
	`seal_key` text NOT NULL,
	`previous_secret` text,
	`previous_until` integer,
	`failing_since` integer,
	`events_after` integer NOT NULL,
	`replays` text,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `webhook_endpoints_by_owner` ON `webhook_endpoints` (`platform_id`,`environment`,`webhook_id`);--> statement-breakpoint
CREATE INDEX `webhook_endpoints_by_key` ON `webhook_endpoints` (`seal_key`,`webhook_id`);--> statement-breakpoint
CREATE TABLE `webhook_queue` (
	`webhook_id` text NOT NULL,
	`next_at` integer NOT NULL,
	`delivery_id` text NOT NULL,
	`event_id` text NOT NULL,
	`event_type` text NOT NULL,
	`body` text NOT NULL,
	`tries` integer NOT NULL,
	`logged` integer NOT NULL,
	`lease_until` integer NOT NULL,
	PRIMARY KEY(`webhook_id`, `next_at`, `delivery_id`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `webhook_replays` (
	`webhook_id` text PRIMARY KEY NOT NULL,
	`platform_id` text NOT NULL,
	`environment` text NOT NULL,
	`after_seq` integer NOT NULL,
	`to_seq` integer NOT NULL,
	`asked_at` integer NOT NULL
) WITHOUT ROWID;

--> statement-breakpoint
INSERT INTO `outbox` (`name`, `seq`) SELECT 'webhooks', seq FROM (SELECT max(`seq`) AS seq FROM `events`) WHERE seq IS NOT NULL;
