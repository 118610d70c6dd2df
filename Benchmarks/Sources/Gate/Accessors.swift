import Foundation
import Strata

// The same properties by slot number and by name, of the same objects: what finding a slot by its name costs.

extension Person {
  private static let ageSlot = Slot<Person, Int64>("age")
  private static let salarySlot = Slot<Person, Double>("salary")
  private static let nameSlot = Slot<Person, String?>("name")
  private static let joinedSlot = Slot<Person, Date?>("joined")
  private static let teamSlot = Slot<Person, Team?>("team")

  var ageByName: Int64 {
    get { read(Person.ageSlot) }
    set { write(newValue, Person.ageSlot) }
  }
  var salaryByName: Double { read(Person.salarySlot) }
  var nameByName: String? { read(Person.nameSlot) }
  var joinedByName: Date? { read(Person.joinedSlot) }
  var teamByName: Team? { read(Person.teamSlot) }
}

extension Operation {
  /// Realised objects that are read again and again, so that only the accessors count.
  static var accessors: [Operation] {
    [
      reading("integer by number") { $0.age },
      reading("integer by name") { $0.ageByName },
      reading("double by number") { Int64($0.salary) },
      reading("double by name") { Int64($0.salaryByName) },
      reading("text by number") { $0.name == nil ? 1 : 2 },
      reading("text by name") { $0.nameByName == nil ? 1 : 2 },
      reading("date by number") { $0.joined == nil ? 1 : 2 },
      reading("date by name") { $0.joinedByName == nil ? 1 : 2 },
      reading("object by number") { $0.team == nil ? 1 : 2 },
      reading("object by name") { $0.teamByName == nil ? 1 : 2 },
      setting("integer set by number") { $0.age = $1 },
      setting("integer set by name") { $0.ageByName = $1 },
      touching("touch 100,000 by slot number") {
        $0.age &+ Int64($0.salary) &+ ($0.name == nil ? 1 : 2) &+ ($0.joined == nil ? 1 : 2)
      },
      touching("touch 100,000 by name") {
        $0.ageByName &+ Int64($0.salaryByName) &+ ($0.nameByName == nil ? 1 : 2)
          &+ ($0.joinedByName == nil ? 1 : 2)
      },
    ]
  }

  private static let rounds = 20

  private static func reading(_ name: String, _ read: @escaping (Person) -> Int64) -> Operation {
    Operation(name: name, unit: "attribute read of an object that was read before") { world in
      let people = try Holder(world) { try $0.fetch(FetchRequest<Person>(entityName: "Person")) }
      people.inContext { people in for person in people { _ = person.age } }
      return {
        let sum = people.inContext { people in
          var sum: Int64 = 0
          for _ in 0..<rounds { for person in people { sum &+= read(person) } }
          return sum
        }
        return sum == 0 ? 0 : World.people * rounds
      }
    }
  }

  private static func setting(_ name: String, _ set: @escaping (Person, Int64) -> Void) -> Operation {
    Operation(name: name, unit: "attribute set of an object that has been edited") { world in
      let people = try Holder(world) { try $0.fetch(FetchRequest<Person>(entityName: "Person")) }
      return {
        people.inContext { people in
          for person in people { person.age = 1 }
          for _ in 0..<rounds { for (number, person) in people.enumerated() { set(person, Int64(number)) } }
        }
        return World.people * rounds
      }
    }
  }

  /// A hundred fetches of a thousand objects, each into a context of its own, four attributes of each read.
  private static func touching(_ name: String, _ touch: @escaping (Person) -> Int64) -> Operation {
    Operation(name: name, unit: "object fetched, four attributes read") { world in
      return {
        var sum: Int64 = 0
        for _ in 0..<100 {
          let context = world.makeContext()
          sum &+= try context.performAndWait {
            try context.fetch(FetchRequest<Person>(entityName: "Person")).reduce(0) { $0 &+ touch($1) }
          }
        }
        return sum == 0 ? 0 : 100 * World.people
      }
    }
  }
}
