CREATE TABLE `seen_devices` (
	`platform_id` text NOT NULL,
	`network` text NOT NULL,
	`device` text NOT NULL,
	`seen_at` integer NOT NULL,
	PRIMARY KEY(`platform_id`, `network`, `device`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `seen_devices_due` ON `seen_devices` (`seen_at`);--> statement-breakpoint
DROP INDEX `sessions_by_platform`;--> statement-breakpoint
ALTER TABLE `sessions` ADD `session_id` text DEFAULT '' NOT NULL;--> statement-breakpoint
ALTER TABLE `sessions` ADD `device` text DEFAULT '' NOT NULL;--> statement-breakpoint
ALTER TABLE `sessions` ADD `network` text DEFAULT '' NOT NULL;--> statement-breakpoint
ALTER TABLE `sessions` ADD `confirmed_at` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
-- Sessions that run get ids of the usual form.
UPDATE `sessions` SET `session_id` = 'ses_0' || substr(hex(randomblob(13)), 1, 25);--> statement-breakpoint
CREATE INDEX `sessions_by_platform` ON `sessions` (`platform_id`,`session_id`);--> statement-breakpoint
ALTER TABLE `passwords` ADD `totp_secret` text;--> statement-breakpoint
ALTER TABLE `passwords` ADD `totp_seal_key` text;--> statement-breakpoint
ALTER TABLE `passwords` ADD `totp_confirmed_at` integer;--> statement-breakpoint
ALTER TABLE `passwords` ADD `totp_step` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `passwords` ADD `recovery_codes` text;--> statement-breakpoint
CREATE INDEX `passwords_by_seal_key` ON `passwords` (`totp_seal_key`,`platform_id`) WHERE totp_seal_key is not null;