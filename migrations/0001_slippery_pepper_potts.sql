CREATE INDEX `agents_by_status` ON `agents` (`platform_id`,`environment`,`status`,`created_at`,`did`);--> statement-breakpoint
CREATE INDEX `agents_by_role` ON `agents` (`platform_id`,`environment`,`economic_role`,`created_at`,`did`);--> statement-breakpoint
CREATE INDEX `principals_by_status` ON `principals` (`platform_id`,`environment`,`status`,`principal_id`) WHERE tenant = 0;