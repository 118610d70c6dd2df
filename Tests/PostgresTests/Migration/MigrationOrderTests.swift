import Foundation
import Strata
import StrataCore
import Testing
import TortureKit

@testable import StrataPostgres

/// The order of members after a migration, where owners are of several entities.
@Suite struct MigrationOrderTests {
  /// ```
  ///   Person ──friends──▶▶ Person    ordered, its own inverse;  Teacher and Pupil are persons
  ///   Person ──clubs──▶▶ Club        ordered at both ends, with `members`
  /// ```
  private func model(_ hasAge: Bool) -> ManagedObjectModel {
    let person = EntityDescription(
      "Person", properties: [AttributeDescription("name", .string, isOptional: true)])
    let club = EntityDescription(
      "Club", properties: [AttributeDescription("name", .string, isOptional: true)])
    if hasAge { person.properties.append(AttributeDescription("age", .integer16, isOptional: true)) }
    let friends = RelationshipDescription("friends", to: person, maxCount: 0, isOrdered: true)
    friends.inverseRelationship = friends
    let clubs = RelationshipDescription("clubs", to: club, maxCount: 0, isOrdered: true)
    let members = RelationshipDescription("members", to: person, maxCount: 0, isOrdered: true)
    clubs.inverseRelationship = members
    members.inverseRelationship = clubs
    person.properties += [friends, clubs]
    club.properties.append(members)
    let (teacher, pupil) = (EntityDescription("Teacher"), EntityDescription("Pupil"))
    person.subentities = [teacher, pupil]
    return ManagedObjectModel(entities: [person, teacher, pupil, club])
  }

  private func lists(_ context: ManagedObjectContext) throws -> [String] {
    func names(_ objects: [ManagedObject]) -> [String] {
      objects.map { $0.value(forKey: "name") as? String ?? "nil" }
    }
    return try context.all("Person", by: "name").map {
      "\($0.value(forKey: "name") ?? "") \(names($0.list("friends"))) \(names($0.list("clubs")))"
    } + context.all("Club", by: "name").map { "\(names($0.list("members")))" }
  }

  @Test(arguments: 1...6)
  func listsKeepTheirOrder(seed: UInt64) throws {
    let stand = try ServerStand(model(false))
    let context = stand.context()
    var random = SeededGenerator(seed: seed)
    let kinds = ["Person", "Teacher", "Pupil"]
    let people = try (0..<9).map { try context.make(kinds[$0 % 3], ["name": "\($0)"]) }
    let clubs = try (0..<3).map { try context.make("Club", ["name": "c\($0)"]) }
    // Each save puts some members of somebody's list where they were not: the order is nobody's keys'.
    for _ in 0..<30 {
      let owner = people[random.below(9)]
      var friends = owner.list("friends")
      let other = people[random.below(9)]
      if !friends.contains(other) { friends.insert(other, at: random.below(friends.count + 1)) }
      friends.shuffle(using: &random)
      owner.setValue(friends, forKey: "friends")
      let club = clubs[random.below(3)]
      var members = club.list("members")
      if !members.contains(other) { members.insert(other, at: random.below(members.count + 1)) }
      members.shuffle(using: &random)
      club.setValue(members, forKey: "members")
      other.setValue(other.list("clubs").shuffled(using: &random), forKey: "clubs")
      try context.save()
    }
    let before = try lists(stand.context())
    #expect(before.joined().count > 200)
    try PostgresStores.migrate(at: stand.url, to: model(true))
    let later = try stand.neighbour(model(true))
    let context2 = later.context()
    #expect(try lists(context2) == before)
    withExtendedLifetime(context2) {}
  }
}
