import SwiftData
import Testing

@Model
class Vehicle {
  var name: String
  var wheels = 4
  var owner: Owner?
  init(name: String) { self.name = name }
}

@Model
final class Truck: Vehicle {
  var load: Int
  init(name: String, load: Int) {
    self.load = load
    super.init(name: name)
  }
}

@Model
final class Owner {
  var name: String
  @Relationship(inverse: \Vehicle.owner) var vehicles: [Vehicle] = []
  init(_ name: String) { self.name = name }
}

struct Depth: Codable, Equatable { var metres = 0.0 }

struct Berth: Codable, Equatable {
  var harbour: String
  var number: Int?
  var mooring = Mooring.buoy
  var depth = Depth()
  var signs: [String] = []
}

/// Its cases are not listed.
enum Mooring: String, Codable { case buoy, quay }

@Model
class Boat {
  @Attribute(.preserveValueOnDeletion) var name: String
  @Attribute(.preserveValueOnDeletion) var berth: Berth?
  var home = Berth(harbour: "none")
  var mooring = Mooring.buoy
  @Relationship(inverse: \Sailor.boat) var crew: [Sailor] = []
  init(_ name: String) { self.name = name }
  var shouted: Berth? { berth.map { Berth(harbour: $0.harbour.uppercased()) } }
  var further: Berth { Berth(harbour: home.harbour, number: home.number.map { $0 + 1 }) }
  /// The same for many values.
  var tidied: Berth {
    let depth = Depth(metres: min(home.depth.metres, 1_000))
    return Berth(harbour: home.harbour.lowercased(), number: home.number.map { abs($0) }, depth: depth)
  }
}

@Model
class Yacht: Boat {
  #Unique<Yacht>([\.name, \.sails])
  #Index<Yacht>([\.home.harbour], [\.name, \.sails])
  var sails = 1
  override init(_ name: String) { super.init(name) }
}

@Model
final class Racer: Yacht {
  var number = 1
  override init(_ name: String) { super.init(name) }
}

@Model
final class Sailor {
  var name: String
  var boat: Boat?
  init(_ name: String) { self.name = name }
}

protocol Moored: PersistentModel {
  var name: String { get }
  var berth: Berth? { get }
  var home: Berth { get }
}

extension Boat: Moored {}

@Suite("Inheritance")
struct InheritanceTests {
  @Test("S20, U9, P2: a submodel is fetched as itself, and predicates know classes")
  func submodels() throws {
    let container = try ModelContainer(
      for: Vehicle.self, Truck.self, configurations: ModelConfiguration(isStoredInMemoryOnly: true))
    let context = ModelContext(container)
    let truck = Truck(name: "Big", load: 10)
    truck.wheels = 6
    let owner = Owner("Ann")
    context.insert(Vehicle(name: "Small"))
    context.insert(truck)
    truck.owner = owner
    #expect(truck.load == 10)
    try context.save()
    for context in [context, ModelContext(container)] {
      #expect(Set(try context.fetch(FetchDescriptor<Vehicle>()).map(\.name)) == ["Big", "Small"])
      let trucks = try context.fetch(FetchDescriptor<Truck>())
      #expect(trucks.map(\.load) == [10])
      #expect(trucks.map(\.wheels) == [6])
      #expect(trucks.first?.owner?.vehicles.first is Truck)
      #expect(trucks.first?.persistentModelID.entityName == "Truck")
      #expect(try context.fetchCount(FetchDescriptor<Vehicle>(predicate: #Predicate { $0 is Truck })) == 1)
      #expect(
        try context.fetch(
          FetchDescriptor<Vehicle>(
            predicate: #Predicate {
              if let truck = $0 as? Truck { return truck.load > 5 } else { return false }
            })
        ).map(\.name) == ["Big"])
      #expect(try context.fetchCount(FetchDescriptor<Truck>(predicate: #Predicate { $0.load > 5 })) == 1)
      #expect(try context.fetch(FetchDescriptor<Truck>(sortBy: [SortDescriptor(\.load)])).count == 1)
      #expect(try context.fetchCount(FetchDescriptor<Truck>(predicate: #Predicate { $0.name == "Big" })) == 1)
    }
  }

  // MARK: Key paths to what is inherited

  /// A container with two boats: one in Bergen whose home is Oslo, and one without a berth.
  private func makeFleet() throws -> ModelContext {
    let container = try ModelContainer(
      for: Boat.self, Yacht.self, Racer.self, configurations: ModelConfiguration(isStoredInMemoryOnly: true))
    let context = ModelContext(container)
    let moored = Racer("Moored")
    moored.berth = Berth(harbour: "Bergen", number: 7, mooring: .quay)
    moored.home = Berth(harbour: "Oslo", depth: Depth(metres: 4))
    moored.mooring = .quay
    context.insert(moored)
    context.insert(Racer("Adrift"))
    let sailor = Sailor("Ann")
    context.insert(sailor)
    sailor.boat = moored
    try context.save()
    return context
  }

  private func count<T>(_ predicate: Predicate<T>, _ context: ModelContext) throws -> Int
  where T: PersistentModel {
    try context.fetchCount(FetchDescriptor(predicate: predicate))
  }

  @Test("The history of a submodel tells of what it inherits")
  func history() throws {
    let context = try makeFleet()
    try context.deleteHistory(HistoryDescriptor<DefaultHistoryTransaction>())
    let boat = try #require(
      try context.fetch(FetchDescriptor<Racer>(predicate: #Predicate { $0.name == "Moored" })).first)
    boat.name = "Renamed"
    boat.sails = 2
    boat.number = 3
    boat.berth?.number = 8
    try context.save()
    let berth = boat.berth
    context.delete(boat)
    try context.save()
    let changes = try context.fetchHistory(HistoryDescriptor<DefaultHistoryTransaction>()).flatMap(\.changes)
    let updates = changes.compactMap { change -> DefaultHistoryUpdate<Racer>? in
      if case .update(let update) = change { update as? DefaultHistoryUpdate<Racer> } else { nil }
    }
    let updated = try #require(updates.first).updatedAttributes
    #expect(updated.count == 4)
    #expect(updated.contains { $0 == \Racer.name })
    #expect(updated.contains { $0 == \Racer.berth })
    #expect(updated.contains { $0 == \Racer.sails })
    #expect(updated.contains { $0 == \Racer.number })
    let deletions = changes.compactMap { change -> DefaultHistoryDelete<Racer>? in
      if case .delete(let deletion) = change { deletion as? DefaultHistoryDelete<Racer> } else { nil }
    }
    let tombstone = try #require(deletions.first).tombstone
    #expect(tombstone[\.name] as? String == "Renamed")
    #expect(tombstone[\.berth] as? Berth == berth)
    #expect(Array(tombstone).count == 2)
  }

  @Test("Predicates and orders of a submodel look into structs that it inherits")
  func structs() throws {
    let context = try makeFleet()
    let quay = Mooring.quay
    #expect(try count(#Predicate<Racer> { $0.home.harbour == "Oslo" }, context) == 1)
    #expect(try count(#Predicate<Racer> { $0.home.depth.metres > 3 }, context) == 1)
    #expect(try count(#Predicate<Racer> { $0.home.number == nil }, context) == 2)
    #expect(try count(#Predicate<Racer> { $0.berth?.harbour == "Bergen" }, context) == 1)
    #expect(try count(#Predicate<Racer> { $0.berth?.number == 7 }, context) == 1)
    #expect(try count(#Predicate<Racer> { $0.berth?.mooring == quay }, context) == 1)
    #expect(try count(#Predicate<Racer> { $0.berth != nil }, context) == 1)
    #expect(try count(#Predicate<Racer> { $0.berth == nil }, context) == 1)
    #expect(try count(#Predicate<Yacht> { $0.berth?.harbour == "Bergen" }, context) == 1)
    #expect(try count(#Predicate<Sailor> { $0.boat?.berth?.harbour == "Bergen" }, context) == 1)
    #expect(try count(#Predicate<Racer> { $0.mooring == quay }, context) == 1)
    for order in [
      SortDescriptor(\Racer.berth?.harbour), SortDescriptor(\Racer.berth?.depth.metres),
      SortDescriptor(\Racer.berth?.number), SortDescriptor(\Racer.home.harbour),
    ] {
      let names = try context.fetch(FetchDescriptor(sortBy: [order])).map(\.name)
      #expect(names == ["Adrift", "Moored"])
    }
    try context.delete(model: Racer.self, where: #Predicate { $0.berth?.harbour == "Bergen" })
    #expect(try context.fetch(FetchDescriptor<Boat>()).map(\.name) == ["Adrift"])
  }

  private func names<T: Moored>(of type: T.Type, _ context: ModelContext) throws -> [[String]] {
    let orders: [[SortDescriptor<T>]] = [
      [SortDescriptor(\.home.harbour)], [SortDescriptor(\.berth?.harbour), SortDescriptor(\.name)],
    ]
    let predicates: [Predicate<T>] = [
      #Predicate { $0.home.harbour == "Oslo" }, #Predicate { $0.berth?.number == 7 },
      #Predicate { $0.berth != nil },
    ]
    return try orders.map { try context.fetch(FetchDescriptor<T>(sortBy: $0)).map(\.name) }
      + predicates.map { try context.fetch(FetchDescriptor<T>(predicate: $0)).map(\.name) }
  }

  @Test("Predicates and orders look into structs that a protocol names")
  func protocols() throws {
    let context = try makeFleet()
    let expected = [["Adrift", "Moored"], ["Adrift", "Moored"], ["Moored"], ["Moored"], ["Moored"]]
    #expect(try names(of: Racer.self, context) == expected)
    #expect(try names(of: Boat.self, context) == expected)
  }

  @Test("A struct that is computed of an inherited one cannot be looked up")
  func computed() throws {
    let context = try makeFleet()
    #expect(throws: SwiftDataError.self) { () throws in
      try self.count(#Predicate<Racer> { $0.shouted?.harbour == "BERGEN" }, context)
    }
    #expect(throws: SwiftDataError.self) { () throws in
      try self.count(#Predicate<Boat> { $0.shouted?.harbour == "BERGEN" }, context)
    }
    #expect(throws: SwiftDataError.self) { () throws in
      try self.count(#Predicate<Racer> { $0.further.number == 1 }, context)
    }
    #expect(throws: SwiftDataError.self) { () throws in
      try context.fetch(FetchDescriptor<Racer>(sortBy: [SortDescriptor(\.further.number)]))
    }
    let tidied: [Predicate<Racer>] = [
      #Predicate { $0.tidied.harbour == "oslo" }, #Predicate { $0.tidied.number == 1 },
      #Predicate { $0.tidied.depth.metres > 3 },
    ]
    for predicate in tidied {
      #expect(throws: SwiftDataError.self) { () throws in try self.count(predicate, context) }
    }
  }

  @Test("#Unique and #Index name inherited properties")
  func keys() throws {
    let context = try makeFleet()
    let entity = try #require(context.container.schema.entitiesByName["Yacht"])
    #expect(entity.uniquenessConstraints == [["name", "sails"]])
    #expect(entity.indices == [["home.harbour"], ["name", "sails"]])
    let again = Racer("Adrift")
    again.number = 9
    context.insert(again)
    let other = Racer("Adrift")
    other.sails = 2
    context.insert(other)
    try context.save()
    let found = try context.fetch(
      FetchDescriptor<Racer>(sortBy: [SortDescriptor(\.name), SortDescriptor(\.sails)]))
    #expect(found.map(\.name) == ["Adrift", "Adrift", "Moored"])
    #expect(found.map(\.number) == [9, 1, 1])
    let unique = Schema.Unique<Racer>([\.name, \.home.harbour, \.number])
    let data = try JSONEncoder().encode(unique)
    #expect(try JSONDecoder().decode(Schema.Unique<Racer>.self, from: data) == unique)
  }
}
