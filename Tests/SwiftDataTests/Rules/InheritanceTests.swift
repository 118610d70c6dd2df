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
}
