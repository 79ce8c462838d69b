ALTER TABLE `disputes` ADD `refunded_before` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `disputes` ADD `parts_remade` integer DEFAULT 0 NOT NULL;