CREATE TABLE `mail_counts` (
	`subject_hash` text PRIMARY KEY NOT NULL,
	`mails` integer NOT NULL,
	`ends_at` integer NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `mail_counts_due` ON `mail_counts` (`ends_at`);--> statement-breakpoint
ALTER TABLE `notices` ADD `is_bounded` integer DEFAULT false NOT NULL;--> statement-breakpoint
CREATE UNIQUE INDEX `notices_gathering` ON `notices` (`platform_id`,`recipient`) WHERE kind = 'customer.digest' and attempts = 0;--> statement-breakpoint
ALTER TABLE `platforms` ADD `pending_contact_email` text;--> statement-breakpoint
ALTER TABLE `platforms` ADD `pending_profile` text;--> statement-breakpoint
UPDATE `platforms` SET `pending_contact_email` = `admin_contact_email`, `admin_contact_email` = `email` WHERE `closed_at` IS NULL AND lower(`admin_contact_email`) <> lower(`email`);
