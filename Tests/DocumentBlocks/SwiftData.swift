import SwiftData

// What Docs/SwiftData.md takes for granted: Scripts/check-blocks compiles the page's code with it.

@Model final class Stay {
  var hotel = ""
  var trip: Trip?
  init(hotel: String) { self.hotel = hotel }
}
