import Foundation
import Strata
import Testing

/// What delete rules do around undo and redo, in a model with relationships that lead back and some that do not.
@Suite struct UndoneRuleTests {
  private let model: ManagedObjectModel
  private let coordinator: PersistentStoreCoordinator

  init() throws {
    func entity(_ name: String) -> EntityDescription {
      EntityDescription(name, properties: [AttributeDescription("name", .string)])
    }
    let (owner, child, grandchild, part) = (
      entity("Owner"), entity("Child"), entity("Grandchild"), entity("Part")
    )
    func pair(_ first: RelationshipDescription, _ second: RelationshipDescription) {
      (first.inverseRelationship, second.inverseRelationship) = (second, first)
    }
    let children = RelationshipDescription("children", to: child, maxCount: 0, deleteRule: .cascade)
    let ofOwner = RelationshipDescription("owner", to: owner, maxCount: 1)
    let grandchildren = RelationshipDescription("children", to: grandchild, maxCount: 0, deleteRule: .cascade)
    let ofChild = RelationshipDescription("parent", to: child, maxCount: 1)
    let address = RelationshipDescription("address", to: part, maxCount: 1, deleteRule: .cascade)
    let residents = RelationshipDescription("residents", to: owner, maxCount: 0)
    pair(children, ofOwner)
    pair(grandchildren, ofChild)
    pair(address, residents)
    owner.properties += [
      children, address, RelationshipDescription("parts", to: part, maxCount: 0, deleteRule: .cascade),
    ]
    child.properties += [ofOwner, grandchildren]
    grandchild.properties += [ofChild]
    part.properties += [residents]
    model = ManagedObjectModel(entities: [owner, child, grandchild, part])
    coordinator = PersistentStoreCoordinator(managedObjectModel: model)
    try coordinator.addPersistentStore(PersistentStoreDescription(url: URL(fileURLWithPath: "/dev/null")))
  }

  private func insert(_ name: String, in context: ManagedObjectContext) throws -> ManagedObject {
    let entity = try #require(model.entities.first { $0.name == name })
    return ManagedObject(entity: entity, insertInto: context)
  }

  private func count(_ name: String, _ context: ManagedObjectContext) throws -> Int {
    try context.count(for: FetchRequest<ManagedObject>(entityName: name))
  }

  @Test("A deletion that is made again applies its rules where they wait for the save")
  func redoneDeletionAppliesItsRules() throws {
    let context = ManagedObjectContext(.confinement, coordinator: coordinator)
    context.undoManager = UndoManager()
    context.propagatesDeletesAtEndOfEvent = false
    let (owner, child) = (try insert("Owner", in: context), try insert("Child", in: context))
    owner.setValue(Set([try insert("Part", in: context)]), forKey: "parts")
    owner.setValue(try insert("Part", in: context), forKey: "address")
    child.setValue(owner, forKey: "owner")
    try context.save()
    context.delete(owner)
    context.processPendingChanges()
    context.undo()
    #expect(context.deletedObjects.isEmpty)
    context.redo()
    #expect(context.deletedObjects == [owner])
    try context.save()
    #expect(try ["Owner", "Child", "Part"].map { try count($0, context) } == [0, 0, 0])
  }

  @Test(
    "What follows from a deletion that cannot be undone cannot be undone either, and needs no group",
    arguments: [true, false])
  func whatFollowsCannotBeUndone(groupsByEvent: Bool) throws {
    let (context, other) = (
      ManagedObjectContext(.confinement, coordinator: coordinator),
      ManagedObjectContext(.confinement, coordinator: coordinator)
    )
    let owner = try insert("Owner", in: context)
    try context.save()
    let manager = UndoManager()
    manager.groupsByEvent = groupsByEvent
    context.undoManager = manager
    manager.disableUndoRegistration()
    context.delete(owner)
    context.processPendingChanges()
    manager.enableUndoRegistration()
    let (child, grandchild) = (try insert("Child", in: other), try insert("Grandchild", in: other))
    child.setValue(try other.existingObject(with: owner.objectID), forKey: "owner")
    grandchild.setValue(child, forKey: "parent")
    try other.save()
    try context.save()
    #expect(try ["Owner", "Child", "Grandchild"].map { try count($0, context) } == [0, 0, 0])
    #expect(!manager.canUndo)
  }

  @Test("An owner and its members come back together in a child of a context that has not saved them")
  func membersOfAnOwnerThatIsNotSaved() throws {
    let parent = ManagedObjectContext(.confinement, coordinator: coordinator)
    let (owner, part) = (try insert("Owner", in: parent), try insert("Part", in: parent))
    owner.setValue(Set([part]), forKey: "parts")
    parent.processPendingChanges()
    let child = ManagedObjectContext(.confinement, parent: parent)
    child.undoManager = UndoManager()
    let copy = try child.existingObject(with: owner.objectID)
    child.delete(copy)
    try child.save()
    #expect(try count("Owner", child) == 0)
    child.undo()
    #expect((copy.value(forKey: "parts") as? Set<ManagedObject>)?.count == 1)
    try child.save()
    try parent.save()
    let reader = ManagedObjectContext(.confinement, coordinator: coordinator)
    let saved = try reader.existingObject(with: owner.objectID)
    #expect((saved.value(forKey: "parts") as? Set<ManagedObject>)?.map(\.objectID) == [part.objectID])
  }

  @Test("Many objects that go and come back belong to their owners again, which are asked for together")
  func manyMembersComeBack() throws {
    let context = ManagedObjectContext(.confinement, coordinator: coordinator)
    let parts = try (0..<20).map { _ in try insert("Part", in: context) }
    let owners = try (0..<4).map { _ in try insert("Owner", in: context) }
    for (place, owner) in owners.enumerated() {
      owner.setValue(Set(parts[(place * 4)..<(place * 4 + 8)]), forKey: "parts")
    }
    try context.save()
    context.undoManager = UndoManager()
    for part in parts { context.delete(part) }
    try context.save()
    #expect(owners.allSatisfy { ($0.value(forKey: "parts") as? Set<ManagedObject>)?.isEmpty == true })
    context.undo()
    try context.save()
    let reader = ManagedObjectContext(.confinement, coordinator: coordinator)
    for (place, owner) in owners.enumerated() {
      let members =
        try reader.existingObject(with: owner.objectID).value(forKey: "parts") as? Set<ManagedObject>
      #expect(
        Set((members ?? []).map(\.objectID)) == Set(parts[(place * 4)..<(place * 4 + 8)].map(\.objectID)))
    }
  }
}
