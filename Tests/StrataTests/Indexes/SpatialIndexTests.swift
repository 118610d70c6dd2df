import Foundation
import Strata
import Testing
import TortureKit

/// Spatial indexes: each dimension is kept in order by itself.
@Suite struct SpatialIndexTests {
  private static func element(_ name: String, _ type: FetchIndexElementType = .rTree)
    -> FetchIndexElementDescription
  {
    FetchIndexElementDescription(propertyName: name, collationType: type)
  }

  private static func model(_ indexes: [FetchIndexDescription]) -> ManagedObjectModel {
    ManagedObjectModel(entities: [
      EntityDescription(
        "Place",
        properties: [
          AttributeDescription("name", .string), AttributeDescription("latitude", .double),
          AttributeDescription("longitude", .double), AttributeDescription("seen", .date),
        ], indexes: indexes)
    ])
  }

  private static var near: FetchIndexDescription {
    FetchIndexDescription(name: "near", elements: [element("latitude"), element("longitude")])
  }

  private func open(_ folder: TemporaryFolder, _ model: ManagedObjectModel) throws
    -> PersistentStoreCoordinator
  {
    let coordinator = PersistentStoreCoordinator(managedObjectModel: model)
    var description = PersistentStoreDescription(url: folder.url.appendingPathComponent("Places.strata"))
    description.durability = Durability.none
    try coordinator.addPersistentStore(description)
    return coordinator
  }

  private func box(_ latitude: ClosedRange<Double>, _ longitude: ClosedRange<Double>) -> FetchPredicate {
    Attribute("latitude") >= latitude.lowerBound && Attribute("latitude") <= latitude.upperBound
      && Attribute("longitude") >= longitude.lowerBound && Attribute("longitude") <= longitude.upperBound
  }

  @Test("a fetch of a box finds what all rows say, through the index of one dimension")
  func boxes() throws {
    let folder = try TemporaryFolder()
    let coordinator = try open(folder, Self.model([Self.near]))
    defer { for store in coordinator.persistentStores { try? coordinator.remove(store) } }
    let context = ManagedObjectContext(.privateQueue, coordinator: coordinator)
    try context.performAndWait {
      var (generator, points) = (SeededGenerator(seed: 7), [(Double, Double)]())
      func next(_ range: ClosedRange<Double>) -> Double { .random(in: range, using: &generator) }
      for number in 0..<600 {
        let place = try EntityDescription.insertNewObject(forEntityName: "Place", into: context)
        place.setValue("place \(number)", forKey: "name")
        // Some are nowhere: nil lies in no box.
        guard number % 20 != 3 else { continue }
        points.append((next(-90...90), next(-180...180)))
        place.setValue(points.last?.0, forKey: "latitude")
        place.setValue(points.last?.1, forKey: "longitude")
      }
      try context.save()
      for _ in 0..<40 {
        let (south, west) = (next(-90...80), next(-180...150))
        let (latitudes, longitudes) = (south...(south + 20), west...(west + 60))
        let request = FetchRequest<ManagedObject>(entityName: "Place", predicate: box(latitudes, longitudes))
        let expected = points.count { latitudes.contains($0.0) && longitudes.contains($0.1) }
        #expect(try context.fetch(request).count == expected)
        #expect(try context.count(for: request) == expected)
        #expect(try context.explain(request).indexName?.hasPrefix("Place.near.") == true)
      }
      var narrow = FetchRequest<ManagedObject>(
        entityName: "Place", predicate: Attribute("longitude") > 0 && Attribute("longitude") < 5)
      #expect(try context.explain(narrow).indexName == "Place.near.longitude")
      narrow.predicate = Attribute("latitude") > 0 && Attribute("latitude") < 5
      #expect(try context.explain(narrow).indexName == "Place.near.latitude")
    }
    let store = try #require(coordinator.persistentStores.first)
    #expect(try coordinator.indexes(in: store).map(\.name).sorted() == ["near.latitude", "near.longitude"])
    #expect(
      try coordinator.indexes(in: store).allSatisfy { $0.entityName == "Place" && $0.entryCount == 600 })
  }

  @Test("a store goes over to a spatial index, and back to one in order, when it is opened")
  func reopening() throws {
    let folder = try TemporaryFolder()
    let ordered = FetchIndexDescription(name: "near", attributes: ["latitude", "longitude"])
    for (indexes, names) in [
      ([ordered], ["near"]), ([Self.near], ["near.latitude", "near.longitude"]), ([ordered], ["near"]),
      ([], []),
    ] as [([FetchIndexDescription], [String])] {
      // Descriptions belong to one model.
      let copies = indexes.map { index in
        FetchIndexDescription(
          name: index.name, elements: index.elements.map { Self.element($0.propertyName, $0.collationType) })
      }
      let coordinator = try open(folder, Self.model(copies))
      let context = ManagedObjectContext(.privateQueue, coordinator: coordinator)
      try context.performAndWait {
        let place = try EntityDescription.insertNewObject(forEntityName: "Place", into: context)
        place.setValue(1.5, forKey: "latitude")
        place.setValue(2.5, forKey: "longitude")
        try context.save()
      }
      let store = try #require(coordinator.persistentStores.first)
      #expect(try coordinator.indexes(in: store).map(\.name).sorted() == names)
      #expect(try (store as? LMDBStore)?.check().isSound == true)
      try coordinator.remove(store)
    }
  }

  @Test("what is no space is refused")
  func refusals() throws {
    func sentences(_ indexes: FetchIndexDescription...) throws -> [String] {
      do {
        _ = try Self.model(indexes).schema()
        return []
      } catch let error as ModelError { return error.sentences }
    }
    #expect(try sentences(Self.near).isEmpty)
    // Dates are a dimension, too.
    #expect(
      try sentences(.init(name: "a", elements: [Self.element("seen"), Self.element("latitude")])).isEmpty)
    #expect(
      try sentences(.init(name: "a", elements: [Self.element("latitude"), Self.element("name")]))
        == ["Index Place.a is spatial and names name, which is neither a number nor a date."])
    #expect(
      try sentences(
        .init(name: "a", elements: [Self.element("latitude"), Self.element("longitude", .binary)]))
        == ["Index Place.a has spatial elements and others; make two indexes of it."])
    #expect(
      try sentences(Self.near, .init(name: "near.latitude", attributes: ["latitude"])) == [
        "Index Place.near keeps latitude under the name near.latitude, which another index has."
      ])
  }

  @Test("Xcode's models may declare one")
  func xcode() throws {
    let text = """
      <model type="com.apple.IDECoreDataModeler.DataModel" documentVersion="1.0"><entity name="Place">
      <attribute name="latitude" optional="YES" attributeType="Double"/>
      <attribute name="longitude" optional="YES" attributeType="Double"/>
      <fetchIndex name="near"><fetchIndexElement property="latitude" type="RTree"/>
      <fetchIndexElement property="longitude" type="RTree"/></fetchIndex></entity></model>
      """
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("Places.xcdatamodel")
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    try Data(text.utf8).write(to: url.appendingPathComponent("contents"))
    let model = try ManagedObjectModel(contentsOf: url)
    _ = try model.schema()
    #expect(model.entitiesByName["Place"]?.indexes.first?.elements.map(\.collationType) == [.rTree, .rTree])
  }
}
