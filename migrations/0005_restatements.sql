CREATE TABLE `restatements` (
	`principal_id` text PRIMARY KEY NOT NULL,
	`started_at` integer NOT NULL,
	`after_at` integer NOT NULL,
	`after_did` text NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `restatements_by_start` ON `restatements` (`started_at`,`principal_id`);
