ALTER TABLE `followers` ADD `seen` text;--> statement-breakpoint
ALTER TABLE `followers` ADD `reread_for` text;--> statement-breakpoint
ALTER TABLE `ledger_lines` ADD `parts` text;--> statement-breakpoint
ALTER TABLE `transactions` ADD `uncounted` integer DEFAULT 0 NOT NULL;