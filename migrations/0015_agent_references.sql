ALTER TABLE `agents` ADD `external_ref` text;--> statement-breakpoint
ALTER TABLE `agents` ADD `metadata` text DEFAULT '{}' NOT NULL;--> statement-breakpoint
CREATE UNIQUE INDEX `agents_by_external_ref` ON `agents` (`platform_id`,`environment`,`external_ref`) WHERE external_ref is not null;