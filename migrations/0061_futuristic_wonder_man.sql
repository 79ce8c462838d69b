PRAGMA foreign_keys=OFF;--> statement-breakpoint
CREATE TABLE `__new_mail_counts` (
	`subject_hash` text NOT NULL,
	`mails` integer NOT NULL,
	`ends_at` integer NOT NULL,
	PRIMARY KEY(`ends_at`, `subject_hash`)
) WITHOUT ROWID;
--> statement-breakpoint
INSERT INTO `__new_mail_counts`("subject_hash", "mails", "ends_at") SELECT "subject_hash", "mails", "ends_at" FROM `mail_counts`;--> statement-breakpoint
DROP TABLE `mail_counts`;--> statement-breakpoint
ALTER TABLE `__new_mail_counts` RENAME TO `mail_counts`;--> statement-breakpoint
PRAGMA foreign_keys=ON;