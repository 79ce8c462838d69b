DROP INDEX `cascades_by_start`;--> statement-breakpoint
CREATE INDEX `cascades_by_kind` ON `cascades` ("trigger" = 'principal_stops' or "trigger" = 'principal_closes',`started_at`,`subject_id`);--> statement-breakpoint
CREATE INDEX `restatements_relisting` ON `restatements` (`principal_id`) WHERE relisting = 1;