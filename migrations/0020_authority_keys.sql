CREATE TABLE `authority_keys` (
	`kid` text PRIMARY KEY NOT NULL,
	`published_at` integer NOT NULL,
	`signs_from` integer,
	`signed_until` integer
) WITHOUT ROWID;--> statement-breakpoint
INSERT INTO `authority_keys` (`kid`, `published_at`, `signs_from`, `signed_until`)
	SELECT `ca_kid`, min(`issued_at`), min(`issued_at`), max(`issued_at`) FROM `certificates` GROUP BY `ca_kid`;
