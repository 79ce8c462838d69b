ALTER TABLE `escrows` ADD `contract` text DEFAULT '' NOT NULL;--> statement-breakpoint
CREATE INDEX `escrows_by_edition` ON `escrows` (`network`,`contract`,`did`,`environment`);