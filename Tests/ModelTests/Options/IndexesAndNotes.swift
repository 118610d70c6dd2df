import Foundation
import StrataModels

/// A class that says what only some models need: user info, directions of indexes, indexes of some rows.
@Managed(
  .userInfo(["postgres.table": "flights"]), .userInfo(["colour": "red", "rank": 7]),
  .index("origin", .descending("departure"), name: "board"),
  .index(.ascending("origin"), "delay", isAscending: false),
  .index(
    "origin", .descending("delay"), where: Attribute("delay") > 60 && Attribute("remark") != nil, name: "late"
  ))
final class Departure: ManagedObject {
  @Attribute(.userInfo(["postgres.column": "from_airport"])) var origin = ""
  var departure = Date(timeIntervalSinceReferenceDate: 0)
  @Indexed(where: Attribute("delay") > 0) var delay: Int32 = 0
  @Attribute(.indexed(where: Attribute("remark") != nil, isAscending: false, name: "remarks")) var remark:
    String?
  @Derived("uppercase:(origin)", .userInfo(["shown": true])) var code: String?
  @Relationship(.userInfo(["postgres.table": "flight_crew"]), inverse: \CrewMember.departures) var crew:
    Set<CrewMember>
}

@Managed final class CrewMember: ManagedObject {
  var name = ""
  @Relationship var departures: Set<Departure>
}

/// The same by hand.
final class HandWrittenDeparture: ManagedObject {
  static let origin = Slot<HandWrittenDeparture, String>("origin")
  static let departure = Slot<HandWrittenDeparture, Date>("departure")
  static let delay = Slot<HandWrittenDeparture, Int32>("delay")
  static let remark = Slot<HandWrittenDeparture, String?>("remark")
  static let code = Slot<HandWrittenDeparture, String?>("code")
  static let crew = Slot<HandWrittenDeparture, Set<HandWrittenCrewMember>>("crew")

  override class var entityDeclaration: EntityDeclaration? {
    EntityDeclaration(
      HandWrittenDeparture.self,
      [
        origin.attribute(default: "", .userInfo(["postgres.column": "from_airport"])),
        departure.attribute(default: Date(timeIntervalSinceReferenceDate: 0)),
        delay.attribute(default: 0, .indexed(where: Attribute("delay") > 0)),
        remark.attribute(.indexed(where: Attribute("remark") != nil, isAscending: false, name: "remarks")),
        code.derived("uppercase:(origin)", .userInfo(["shown": true])),
        crew.relationship(.userInfo(["postgres.table": "flight_crew"]), inverse: "departures"),
      ], .named("Departure"), .userInfo(["postgres.table": "flights"]),
      .userInfo(["colour": "red", "rank": 7]),
      .index("origin", .descending("departure"), name: "board"),
      .index(.ascending("origin"), "delay", isAscending: false),
      .index(
        "origin", .descending("delay"), where: Attribute("delay") > 60 && Attribute("remark") != nil,
        name: "late"))
  }
}

final class HandWrittenCrewMember: ManagedObject {
  static let name = Slot<HandWrittenCrewMember, String>("name")
  static let departures = Slot<HandWrittenCrewMember, Set<HandWrittenDeparture>>("departures")
  override class var entityDeclaration: EntityDeclaration? {
    EntityDeclaration(
      HandWrittenCrewMember.self, [name.attribute(default: ""), departures.relationship()],
      .named("CrewMember"))
  }
}
