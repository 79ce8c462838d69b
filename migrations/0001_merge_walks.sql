CREATE TABLE `walks` (
	`kind` text NOT NULL,
	`subject` text NOT NULL,
	`started_at` integer NOT NULL,
	`after_at` integer NOT NULL,
	`after_id` text NOT NULL,
	`relisting` integer,
	`payload` text,
	PRIMARY KEY(`kind`, `subject`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `walks_by_start` ON `walks` (`kind`,`started_at`,`subject`);--> statement-breakpoint
CREATE INDEX `walks_relisting` ON `walks` (`relisting`,`subject`) WHERE relisting = 1;