import Foundation
import Observation
import StrataModels

// What Docs/FetchedResults.md takes for granted: Scripts/check-blocks compiles the page's code with it.

@Managed final class Book: ManagedObject {
  var title = ""
  var pages = 0
  var published: Date?
}

@Managed final class Flight: ManagedObject {
  var departure: Date?
}
