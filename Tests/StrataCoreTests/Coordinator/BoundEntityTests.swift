import Foundation
import Testing

@testable import StrataCore

/// What objects point to, and what stays of a model for as long as the process lives.
@Suite struct BoundEntityTests {
  /// One entity of that name, whose objects refer to others of it.
  private static func model(
    _ name: String = "Tree", _ type: AttributeType = .string, isTransient: Bool = false,
    isOrdered: Bool = false
  ) -> ManagedObjectModel {
    let tree = EntityDescription(
      name, properties: [AttributeDescription("name", type, isTransient: isTransient)])
    let shoots = RelationshipDescription("shoots", to: tree, maxCount: 0)
    let origin = RelationshipDescription("origin", to: tree, maxCount: 1)
    shoots.isOrdered = isOrdered
    (shoots.inverseRelationship, origin.inverseRelationship) = (origin, shoots)
    tree.properties += [shoots, origin]
    return ManagedObjectModel(entities: [tree])
  }

  /// Whether `isTrue` comes true in half a minute: the last reference may be let go of on another thread.
  private func eventually(_ isTrue: () -> Bool) -> Bool {
    for _ in 0..<3_000 where !isTrue() { Thread.sleep(forTimeInterval: 0.01) }
    return isTrue()
  }

  @Test("what objects point to ends with the last of the store, the contexts and the objects")
  func end() throws {
    weak var bound: BoundEntity?
    weak var coordinator: PersistentStoreCoordinator?
    func open() throws -> ManagedObject {
      let made = PersistentStoreCoordinator(managedObjectModel: Self.model())
      coordinator = made
      try made.addPersistentStore(PersistentStoreDescription.inMemory)
      let context = ManagedObjectContext(.confinement, coordinator: made)
      let tree = try EntityDescription.insertNewObject(forEntityName: "Tree", into: context)
      try context.save()
      bound = tree.home
      #expect(bound === made.bindings.first?.entities.first ?? nil)
      return tree
    }
    var tree: ManagedObject? = try open()
    #expect(eventually { coordinator == nil })
    #expect(bound != nil && tree?.entityName == "Tree")
    tree = nil
    #expect(eventually { bound == nil })
  }

  @Test("what objects in no context point to is made once for a coordinator of the model, and ends with it")
  func unattached() throws {
    weak var bound: BoundEntity?
    func use() throws {
      let coordinator = PersistentStoreCoordinator(managedObjectModel: Self.model())
      let entity = try #require(coordinator.managedObjectModel.entitiesByName["Tree"])
      bound = ManagedObject(entity: entity, insertInto: nil).home
      #expect(bound != nil && ManagedObject(entity: entity, insertInto: nil).home === bound)
      withExtendedLifetime(coordinator) {}
    }
    try use()
    #expect(eventually { bound == nil })
  }

  @Test("entities of models that are made again share their layouts' tables; those that differ do not")
  func tables() throws {
    func table(_ model: ManagedObjectModel) throws -> UnsafePointer<UInt32> {
      try #require(try model.schema().entities.first).layout.table
    }
    let first = try table(Self.model())
    #expect(try table(Self.model()) == first)
    // Whoever finds a property by its name finds the same.
    #expect(try table(Self.model("Shrub")) == first)
    #expect(try table(Self.model(isOrdered: true)) != first)
    #expect(try table(Self.model("Tree", .uri)) != first)
    // In rows these look the same.
    let transient = try table(Self.model("Tree", .string, isTransient: true))
    #expect(transient != first)
    #expect(try table(Self.model("Tree", .string, isTransient: true)) == transient)
    #expect(try table(Self.model("Tree", .date, isTransient: true)) != transient)
  }

  @Test("tokens are found by store and entity")
  func tokens() {
    let store = UUID()
    func token(_ number: Int?, root: String = "Plant", store: UUID) -> StoreEntityToken {
      .token(storeIdentifier: store, entityName: "Tree", entityNumber: number, rootName: root)
    }
    #expect(StoreEntityToken.known(storeIdentifier: store, entityName: "Tree") == nil)
    let first = token(3, store: store)
    #expect(token(3, store: store) === first)
    #expect(StoreEntityToken.known(storeIdentifier: store, entityName: "Tree") === first)
    #expect(StoreEntityToken.known(storeIdentifier: store, entityName: "Shrub") == nil)
    let (second, elsewhere) = (token(nil, store: store), token(3, store: UUID()))
    #expect(second !== first && second.hierarchy === first.hierarchy)
    #expect(elsewhere !== first && elsewhere.hierarchy !== first.hierarchy)
    let other = token(3, root: "Tree", store: store)
    #expect(other !== first && other.hierarchy !== first.hierarchy)
    #expect(token(3, root: "Tree", store: store) === other)
  }
}
