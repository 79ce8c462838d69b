CREATE INDEX `agents_not_active` ON `agents` (`status`) WHERE status not in ('DRAFT', 'ACTIVE');--> statement-breakpoint
CREATE UNIQUE INDEX `certificates_by_status` ON `certificates` (`status_list_idx`);--> statement-breakpoint
CREATE INDEX `certificates_replaced` ON `certificates` (`replaced_at`) WHERE replaced_at is not null;--> statement-breakpoint
CREATE INDEX `principals_not_active` ON `principals` (`status`) WHERE status <> 'ACTIVE';