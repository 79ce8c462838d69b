ALTER TABLE `platforms` ADD `clock_moved_at` integer;--> statement-breakpoint
ALTER TABLE `platforms` ADD `clock_recorded_to` integer;--> statement-breakpoint
CREATE INDEX `platforms_moved` ON `platforms` (`platform_id`) WHERE clock_offset_ms > 0;--> statement-breakpoint
ALTER TABLE `tasks` ADD `provider_rated_at` integer;