CREATE TABLE `__new_directory_hashes` (
	`environment` text NOT NULL,
	`occurred_at` integer NOT NULL,
	`seq` integer NOT NULL,
	`hash` text NOT NULL,
	PRIMARY KEY(`environment`, `occurred_at`)
) WITHOUT ROWID;
--> statement-breakpoint
INSERT INTO `__new_directory_hashes` SELECT h.`environment`, coalesce(i.`occurred_at`, h.`seq`), h.`seq`, h.`hash`
FROM `directory_hashes` AS h LEFT JOIN `directory_instants` AS i ON i.`environment` = h.`environment` AND i.`seq` = h.`seq`
WHERE h.`seq` % 16 = 1;--> statement-breakpoint
DROP TABLE `directory_hashes`;--> statement-breakpoint
DROP TABLE `directory_instants`;--> statement-breakpoint
ALTER TABLE `__new_directory_hashes` RENAME TO `directory_hashes`;