import Foundation
import StrataModels

// What Docs/Observation.md takes for granted: Scripts/check-blocks compiles the page's code with it.

@Managed final class Flight: ManagedObject {
  var remark = ""
}

final class Label {
  var text = ""
}
