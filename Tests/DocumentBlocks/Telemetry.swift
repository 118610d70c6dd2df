import Foundation
import Logging
import Strata
import StrataTelemetry

// What Docs/Telemetry.md takes for granted: Scripts/check-blocks compiles the page's code with it.

final class Team: ManagedObject {
  var name: String? { readString(slot: 0) }
}

final class Person: ManagedObject {
  var team: Team? { readObject(slot: 0) }
}
