-- By hand: names the events of what was queued and logged with a body of its own. 0: one that is no longer kept.
UPDATE `webhook_deliveries` SET `event_seq` = coalesce(
	(SELECT t.`seq` FROM `webhook_endpoints` AS e CROSS JOIN `event_terms` AS t ON t.`platform_id` = e.`platform_id` AND t.`environment` = e.`environment` AND t.`term` = `webhook_deliveries`.`event_id` WHERE e.`webhook_id` = `webhook_deliveries`.`webhook_id`),
	(SELECT `seq` FROM `events` WHERE `seq` > coalesce((SELECT `seq` FROM `outbox` WHERE `name` = 'listed'), 0) AND `id` = `webhook_deliveries`.`event_id`),
	0
);--> statement-breakpoint
UPDATE `webhook_queue` SET `event_seq` = coalesce(
	(SELECT t.`seq` FROM `webhook_endpoints` AS e CROSS JOIN `event_terms` AS t ON t.`platform_id` = e.`platform_id` AND t.`environment` = e.`environment` AND t.`term` = `webhook_queue`.`event_id` WHERE e.`webhook_id` = `webhook_queue`.`webhook_id`),
	(SELECT `seq` FROM `events` WHERE `seq` > coalesce((SELECT `seq` FROM `outbox` WHERE `name` = 'listed'), 0) AND `id` = `webhook_queue`.`event_id`),
	0
);--> statement-breakpoint
PRAGMA foreign_keys=OFF;--> statement-breakpoint
CREATE TABLE `__new_webhook_deliveries` (
	`webhook_id` text NOT NULL,
	`delivery_id` text NOT NULL,
	`event_id` text NOT NULL,
	`event_type` text NOT NULL,
	`status` text NOT NULL,
	`next_at` integer,
	`attempts` text NOT NULL,
	`event_seq` integer NOT NULL,
	PRIMARY KEY(`webhook_id`, `delivery_id`)
);
--> statement-breakpoint
INSERT INTO `__new_webhook_deliveries`("webhook_id", "delivery_id", "event_id", "event_type", "status", "next_at", "attempts", "event_seq") SELECT "webhook_id", "delivery_id", "event_id", "event_type", "status", "next_at", "attempts", "event_seq" FROM `webhook_deliveries`;--> statement-breakpoint
DROP TABLE `webhook_deliveries`;--> statement-breakpoint
ALTER TABLE `__new_webhook_deliveries` RENAME TO `webhook_deliveries`;--> statement-breakpoint
PRAGMA foreign_keys=ON;--> statement-breakpoint
CREATE TABLE `__new_webhook_queue` (
	`webhook_id` text NOT NULL,
	`next_at` integer NOT NULL,
	`delivery_id` text NOT NULL,
	`event_seq` integer NOT NULL,
	`event_id` text NOT NULL,
	`event_type` text NOT NULL,
	`tries` integer NOT NULL,
	`logged` integer NOT NULL,
	`lease_until` integer NOT NULL,
	PRIMARY KEY(`webhook_id`, `next_at`, `delivery_id`)
) WITHOUT ROWID;
--> statement-breakpoint
INSERT INTO `__new_webhook_queue`("webhook_id", "next_at", "delivery_id", "event_seq", "event_id", "event_type", "tries", "logged", "lease_until") SELECT "webhook_id", "next_at", "delivery_id", "event_seq", "event_id", "event_type", "tries", "logged", "lease_until" FROM `webhook_queue`;--> statement-breakpoint
DROP TABLE `webhook_queue`;--> statement-breakpoint
ALTER TABLE `__new_webhook_queue` RENAME TO `webhook_queue`;