DROP INDEX `customers_by_platform`;--> statement-breakpoint
DROP INDEX `platforms_by_email`;--> statement-breakpoint
CREATE UNIQUE INDEX `platforms_by_email` ON `platforms` (`email_folded`) WHERE closed_at is null;