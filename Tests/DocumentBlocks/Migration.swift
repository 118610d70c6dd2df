import Foundation
import Strata

// What Docs/Migration.md takes for granted: Scripts/check-blocks compiles the page's code with it.

final class BirdPolicy: EntityMigrationPolicy {}
