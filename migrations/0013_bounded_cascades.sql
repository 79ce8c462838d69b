CREATE TABLE `last_numbers` (
	`name` text PRIMARY KEY NOT NULL,
	`activity` integer NOT NULL,
	`sandbox` integer NOT NULL,
	`production` integer NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
ALTER TABLE `agents` ADD `recertified` integer DEFAULT false NOT NULL;--> statement-breakpoint
UPDATE `agents` SET `recertified` = 1 WHERE (SELECT count(*) FROM `certificates` WHERE `certificates`.`did` = `agents`.`did`) > 1;--> statement-breakpoint
ALTER TABLE `cascades` ADD `after_at` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `cascades` ADD `after_did` text DEFAULT '' NOT NULL;