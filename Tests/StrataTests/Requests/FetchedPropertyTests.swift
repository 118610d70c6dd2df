import Foundation
import Strata
import Testing

/// Fetched properties (rule 111).
struct FetchedPropertyTests {
  let store: TemporaryStore
  let context: ManagedObjectContext
  let lamp: Product

  /// A product's cheapest sales: those of at most the length of its name, in a region called like its group.
  private static func makeModel() -> ManagedObjectModel {
    SalesModel.make { entities in
      let source = FetchedPropertyDescription.sourceVariable
      let likeGroup = FetchPredicate.compare(
        FetchComparison(.key("region"), .equal, .keyPath(base: .variable(source), keys: ["group"])))
      let property = FetchedPropertyDescription(
        "localSales",
        fetchRequest: FetchRequest(
          entityName: "Sale", predicate: likeGroup, sortDescriptors: [FetchSort("amount", ascending: false)]))
      property.userInfo = ["most": 5]
      let cheap = FetchPredicate.compare(
        FetchComparison(
          .key("amount"), .lessOrEqual,
          .keyPath(base: .variable(FetchedPropertyDescription.propertyVariable), keys: ["userInfo", "most"])))
      let own = FetchPredicate.compare(FetchComparison(.key("product"), .equal, .variable(source)))
      let cheapSales = FetchedPropertyDescription(
        "cheapSales",
        fetchRequest: FetchRequest(
          entityName: "Sale", predicate: .and([own, cheap]), sortDescriptors: [FetchSort("amount")]))
      cheapSales.userInfo = ["most": 5]
      entities["Product"]?.properties += [property, cheapSales]
      let siblings = FetchedPropertyDescription(
        "siblings",
        fetchRequest: FetchRequest(
          entityName: "Sale",
          predicate: .compare(
            FetchComparison(
              .key("product.name"), .equal, .keyPath(base: .variable(source), keys: ["product", "name"]))),
          sortDescriptors: [FetchSort("amount")]))
      entities["Sale"]?.properties.append(siblings)
    }
  }

  init() throws {
    store = try TemporaryStore(Self.makeModel())
    context = store.context()
    lamp = context.addProduct("Lamp", group: "North")
    let desk = context.addProduct("Desk", group: "South")
    context.addSale("North", 3, of: lamp)
    context.addSale("North", 9, of: desk)
    context.addSale("South", 4, of: lamp)
    context.addSale("South", 8, of: lamp)
    try context.save()
  }

  private func amounts(_ object: ManagedObject, _ key: String) throws -> [Int64?] {
    try object.fetchedObjects(forKey: key).map { ($0 as? Sale)?.amount }
  }

  @Test("rule 111: fetched when asked for, in order, with the source and the property bound")
  func fetching() throws {
    let context = store.context()
    let again = try context.fetch(FetchRequest<Product>(predicate: Attribute("name") == "Lamp"))[0]
    #expect(!again.hasFetched("localSales") && context.statistics.fetches == 1)
    #expect(try amounts(again, "localSales") == [9, 3])
    #expect(try amounts(again, "cheapSales") == [3, 4])
    #expect((again.value(forKey: "localSales") as? [Sale])?.map(\.amount) == [9, 3])
    #expect((again["cheapSales"] as? [ManagedObject])?.count == 2)
    let sale = try context.fetch(FetchRequest<Sale>(predicate: Attribute("amount") == 8))[0]
    #expect(try amounts(sale, "siblings") == [3, 4, 8])
  }

  @Test("rule 111: kept until the object becomes a fault or is refreshed; not updated by itself")
  func caching() throws {
    #expect(try amounts(lamp, "localSales") == [9, 3])
    context.addSale("North", 7)
    #expect(try amounts(lamp, "localSales") == [9, 3])
    #expect(lamp.hasFetched("localSales"))
    context.refresh(lamp, mergeChanges: false)
    #expect(!lamp.hasFetched("localSales"))
    #expect(try amounts(lamp, "localSales") == [9, 7, 3])
    lamp.setValue("South", forKey: "group")
    #expect(try amounts(lamp, "localSales") == [9, 7, 3])
    context.refresh(lamp, mergeChanges: true)
    #expect(try amounts(lamp, "localSales") == [8, 4])
  }

  @Test("rule 111: in a child the parent's unsaved objects are found")
  func children() throws {
    context.addSale("North", 7)
    let child = ManagedObjectContext(.confinement, parent: context)
    #expect(try amounts(child.object(with: lamp.objectID), "localSales") == [9, 7, 3])
  }

  @Test("rule 111: the members of the source are a list, however many there are", arguments: [true, false])
  func membersOfTheSource(isSaved: Bool) throws {
    let formats = [
      "counted": "$FETCH_SOURCE.sales.@count > 0", "own": "$FETCH_SOURCE.sales CONTAINS SELF",
      "regions": "ANY $FETCH_SOURCE.sales.region == region", "any": "ANY $FETCH_SOURCE.sales == SELF",
    ]
    let store = try TemporaryStore(
      SalesModel.make { entities in
        for (name, format) in formats {
          guard let predicate = try? FetchPredicate(format: format) else { continue }
          entities["Product"]?.properties.append(
            FetchedPropertyDescription(
              name,
              fetchRequest: FetchRequest(
                entityName: "Sale", predicate: predicate, sortDescriptors: [FetchSort("amount")])))
        }
      })
    let context = store.context()
    let products = (0..<3).map { context.addProduct("p\($0)") }
    context.addSale("a", 1, of: products[1])
    context.addSale("b", 2, of: products[2])
    context.addSale("a", 3, of: products[2])
    if isSaved { try context.save() }
    let found = try products.map { product in
      try formats.keys.sorted().map { try amounts(product, $0).map { $0 ?? 0 } }
    }
    #expect(found[0] == [[], [], [], []])
    #expect(found[1] == [[1], [1, 2, 3], [1], [1, 3]])
    #expect(found[2] == [[2, 3], [1, 2, 3], [2, 3], [1, 2, 3]])
  }

  @Test("rule 111: may cross stores")
  func acrossStores() throws {
    let coordinator = try PersistentStoreCoordinator.withTwoStores(Self.makeModel())
    let context = ManagedObjectContext(.confinement, coordinator: coordinator)
    let lamp = context.addProduct("Lamp", group: "North")
    try context.assign(lamp, to: coordinator.persistentStores[0])
    try context.assign(context.addSale("North", 1), to: coordinator.persistentStores[1])
    try context.assign(context.addSale("North", 2), to: coordinator.persistentStores[0])
    try context.save()
    #expect(try amounts(lamp, "localSales") == [2, 1])
  }

  @Test("rule 111: no predicate, sort key or column can name it")
  func notInPredicates() {
    for request in [
      FetchRequest<Product>(predicate: Attribute("localSales") == nil),
      FetchRequest<Product>(sortDescriptors: [FetchSort("localSales")]),
      FetchRequest<Product>(predicate: Attribute("localSales.amount") == 1),
    ] {
      let error = #expect(throws: FetchError.self) { try context.fetch(request) }
      #expect(error?.description.contains("fetched property") == true)
    }
    var rows = FetchRequest<FetchedDictionary>(entityName: "Product")
    rows.propertiesToFetch = ["localSales"]
    #expect(throws: FetchError.self) { try context.fetch(rows) }
  }

  @Test(
    "it takes no part in hashes and in the store: it can be added and removed at any time; copies of the model have it"
  )
  func hashes() throws {
    let (with, without) = (Self.makeModel(), SalesModel.make())
    #expect(with.entitiesByName["Product"]?.versionHash == without.entitiesByName["Product"]?.versionHash)
    let copy: ManagedObjectModel = try with.copy()
    #expect(copy.entitiesByName["Product"]?.propertiesByName["cheapSales"] is FetchedPropertyDescription)
    #expect(
      copy.entitiesByName["Product"]?.properties.count
        == with.entitiesByName["Product"]?.properties.count)
    let bare = try store.reopened(without)
    #expect(try bare.context().count(for: FetchRequest<Product>()) == 2)
    let full = try bare.reopened(Self.makeModel())
    let context = full.context()
    let lamp = try context.fetch(FetchRequest<Product>(predicate: Attribute("name") == "Lamp"))[0]
    #expect(try amounts(lamp, "localSales") == [9, 3])
  }

  @Test("what is wrong with the property is an error when the model is taken into use")
  func validation() {
    func sentences(_ property: FetchedPropertyDescription) -> String {
      let model = SalesModel.make { $0["Product"]?.properties.append(property) }
      let error = #expect(throws: ModelError.self) { _ = try model.schema() }
      return error?.sentences.joined(separator: " ") ?? ""
    }
    let empty = FetchedPropertyDescription()
    empty.name = "empty"
    #expect(sentences(empty).contains("no fetch request"))
    #expect(
      sentences(FetchedPropertyDescription("x", fetchRequest: FetchRequest(entityName: "Sail")))
        .contains("Sail"))
    #expect(
      sentences(FetchedPropertyDescription("name", fetchRequest: FetchRequest(entityName: "Sale")))
        .contains("two properties called name"))
  }

  @Test("setting it is a programmer's error, unknown variables are an error of the fetch")
  func misuse() throws {
    let model = SalesModel.make { entities in
      entities["Product"]?.properties.append(
        FetchedPropertyDescription(
          "odd",
          fetchRequest: FetchRequest(
            entityName: "Sale",
            predicate: .compare(FetchComparison(.key("region"), .equal, .variable("OTHER"))))))
    }
    let store = try TemporaryStore(model)
    let context = store.context()
    let product = context.addProduct("Lamp")
    #expect(throws: FetchError.self) { try product.fetchedObjects(forKey: "odd") }
  }
}
