-- Entries of the activity log are numbered for each platform, and their ids are computed from the number.
ALTER TABLE `activity_entries` RENAME TO `old_activity_entries`;
--> statement-breakpoint
CREATE TABLE `activity_entries` (
	`platform_id` text NOT NULL,
	`seq` integer NOT NULL,
	`environment` text NOT NULL,
	`occurred_at` integer NOT NULL,
	`action` text NOT NULL,
	`actor_type` text NOT NULL,
	`actor_id` text NOT NULL,
	`subject_type` text NOT NULL,
	`subject_id` text NOT NULL,
	`changes` text,
	`hash` text,
	PRIMARY KEY(`platform_id`, `seq`)
) WITHOUT ROWID;
--> statement-breakpoint
INSERT INTO `activity_entries` (`platform_id`, `seq`, `environment`, `occurred_at`, `action`, `actor_type`, `actor_id`, `subject_type`, `subject_id`, `changes`)
SELECT o.`platform_id`, row_number() OVER (PARTITION BY o.`platform_id` ORDER BY o.`occurred_at`, o.`id`), o.`environment`, o.`occurred_at`, o.`action`, o.`actor_type`, o.`actor_id`, o.`subject_type`, o.`subject_id`, o.`changes`
FROM `old_activity_entries` AS o;
--> statement-breakpoint
DROP TABLE `old_activity_entries`;
--> statement-breakpoint
CREATE INDEX `activity_entries_by_subject` ON `activity_entries` (`platform_id`,`subject_id`,`seq`);
--> statement-breakpoint
CREATE INDEX `activity_entries_by_actor` ON `activity_entries` (`platform_id`,`actor_id`,`seq`);
--> statement-breakpoint
CREATE INDEX `activity_entries_by_action` ON `activity_entries` (`platform_id`,`action`,`seq`);
--> statement-breakpoint
CREATE TABLE `activity_chains` (
	`platform_id` text PRIMARY KEY NOT NULL,
	`seq` integer NOT NULL,
	`hash` text NOT NULL,
	`head_seq` integer NOT NULL,
	`check_at` integer NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `activity_chains_due` ON `activity_chains` (`check_at`,`platform_id`);
--> statement-breakpoint
-- Each platform's log is hashed from its first entry, spread over the first day.
INSERT INTO `activity_chains` (`platform_id`, `seq`, `hash`, `head_seq`, `check_at`)
SELECT `platform_id`, 0, '0000000000000000000000000000000000000000000000000000000000000000', 0, unixepoch() * 1000 + abs(random() % 86400000) FROM `platforms`;
--> statement-breakpoint
CREATE TABLE `activity_heads` (
	`platform_id` text NOT NULL,
	`seq` integer NOT NULL,
	`hash` text NOT NULL,
	`signed_at` integer NOT NULL,
	`jws` text NOT NULL,
	PRIMARY KEY(`platform_id`, `seq`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `activity_heads_by_time` ON `activity_heads` (`platform_id`,`signed_at`,`seq`);
--> statement-breakpoint
CREATE TABLE `operator_entries` (
	`seq` integer PRIMARY KEY NOT NULL,
	`occurred_at` integer NOT NULL,
	`operator_id` text NOT NULL,
	`action` text NOT NULL,
	`subject_type` text NOT NULL,
	`subject_id` text NOT NULL,
	`platform_id` text,
	`detail` text
);
--> statement-breakpoint
CREATE INDEX `operator_entries_by_platform` ON `operator_entries` (`platform_id`,`seq`) WHERE platform_id is not null;
--> statement-breakpoint
CREATE INDEX `operator_entries_by_operator` ON `operator_entries` (`operator_id`,`seq`);
--> statement-breakpoint
CREATE INDEX `operator_entries_by_action` ON `operator_entries` (`action`,`seq`);
