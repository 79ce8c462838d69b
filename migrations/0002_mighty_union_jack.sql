DROP INDEX `principals_by_customer`;--> statement-breakpoint
CREATE INDEX `principals_by_customer` ON `principals` (`platform_id`,`environment`,`customer_id`,`principal_id`) WHERE tenant = 0;