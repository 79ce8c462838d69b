CREATE TABLE `event_marks` (
	`at` integer PRIMARY KEY NOT NULL,
	`seq` integer NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `event_terms` (
	`platform_id` text NOT NULL,
	`environment` text NOT NULL,
	`term` text NOT NULL,
	`seq` integer NOT NULL,
	`type` text NOT NULL,
	PRIMARY KEY(`platform_id`, `environment`, `term`, `seq`)
) WITHOUT ROWID;
