CREATE TABLE `walks` (
	`kind` text NOT NULL,
	`subject` text NOT NULL,
	`started_at` integer NOT NULL,
	`after_at` integer NOT NULL,
	`after_id` text NOT NULL,
	`trigger` text,
	`report` text,
	`relisting` integer,
	`payload` text,
	PRIMARY KEY(`kind`, `subject`)
) WITHOUT ROWID;--> statement-breakpoint
CREATE INDEX `walks_by_start` ON `walks` (`kind`,`started_at`,`subject`);--> statement-breakpoint
CREATE INDEX `walks_relisting` ON `walks` (`relisting`,`subject`) WHERE relisting = 1;--> statement-breakpoint
INSERT INTO `walks` (`kind`, `subject`, `started_at`, `after_at`, `after_id`, `trigger`, `report`, `relisting`, `payload`) SELECT 'cascade', subject_id, started_at, after_at, after_did, `trigger`, report, NULL,
	json_object('reason', reason, 'actor', json_object('type', actor_type, 'id', actor_id)) FROM `cascades`;--> statement-breakpoint
INSERT INTO `walks` (`kind`, `subject`, `started_at`, `after_at`, `after_id`, `trigger`, `report`, `relisting`, `payload`) SELECT 'restatement', principal_id, started_at, after_at, after_did, NULL, NULL, nullif(relisting, 0),
	`returning` FROM `restatements`;--> statement-breakpoint
INSERT INTO `walks` (`kind`, `subject`, `started_at`, `after_at`, `after_id`, `trigger`, `report`, `relisting`, `payload`) SELECT 'replay', webhook_id, asked_at, after_seq, '', NULL, NULL, NULL,
	json_object('platformId', platform_id, 'environment', environment, 'toSeq', to_seq) FROM `webhook_replays`;--> statement-breakpoint
INSERT INTO `walks` (`kind`, `subject`, `started_at`, `after_at`, `after_id`, `trigger`, `report`, `relisting`, `payload`) SELECT 'announcement', announcement_id, created_at, 0, reached, NULL, NULL, NULL,
	json_object('kind', kind) FROM `announcements` WHERE finished_at IS NULL;--> statement-breakpoint
INSERT INTO `walks` (`kind`, `subject`, `started_at`, `after_at`, `after_id`, `trigger`, `report`, `relisting`, `payload`) SELECT 'edition_move', network || ' ' || did || ' ' || environment, planned_at, 0, '', NULL, NULL, NULL,
	NULL FROM `edition_moves`;--> statement-breakpoint
DROP TABLE `edition_moves`;--> statement-breakpoint
DROP TABLE `cascades`;--> statement-breakpoint
DROP TABLE `restatements`;--> statement-breakpoint
DROP TABLE `webhook_replays`;--> statement-breakpoint
DROP INDEX `announcements_open`;--> statement-breakpoint
ALTER TABLE `announcements` DROP COLUMN `reached`;--> statement-breakpoint
ALTER TABLE `announcements` DROP COLUMN `finished_at`;