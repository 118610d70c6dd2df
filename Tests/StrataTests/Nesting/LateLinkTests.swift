import Foundation
import Strata
import Testing

/// Children that relate objects to one that is deleted in their parent by then, which they do not know: nothing that was edited after a deletion is deleted by it.
struct LateLinkTests {
  /// Which context deletes the owner before a child relates a thing to it.
  enum Deleter: CaseIterable { case parent, sibling }

  private struct World {
    let store: TemporaryStore
    let root: ManagedObjectContext
    let owner: ManagedObjectID
    let thing: ManagedObjectID

    /// A saved owner and a saved thing, which are not related.
    init(_ rule: DeleteRule, isManyToMany: Bool) throws {
      let (owner, thing) = (EntityDescription("Owner"), EntityDescription("Thing"))
      let things = RelationshipDescription("things", to: thing, maxCount: 0, deleteRule: rule)
      let owners = RelationshipDescription("owners", to: owner, maxCount: isManyToMany ? 0 : 1)
      (things.inverseRelationship, owners.inverseRelationship) = (owners, things)
      owner.properties = [AttributeDescription("name", .string), things]
      thing.properties = [AttributeDescription("name", .string), owners]
      store = try TemporaryStore(ManagedObjectModel(entities: [owner, thing]))
      root = store.context()
      let objects = [root.new("Owner", ["name": "o"]), root.new("Thing", ["name": "t"])]
      try root.save()
      (self.owner, self.thing) = (objects[0].objectID, objects[1].objectID)
    }

    func child() -> ManagedObjectContext {
      let child = ManagedObjectContext(.confinement, parent: root)
      // Both are known before anything is deleted.
      for id in [owner, thing] { _ = child.object(with: id)["name"] }
      return child
    }

    func link(_ context: ManagedObjectContext) {
      let things = Set([context.object(with: thing)])
      context.object(with: owner).setValue(things, forKey: "things")
    }

    func delete(_ context: ManagedObjectContext) { context.delete(context.object(with: owner)) }

    /// What a context of its own finds: how many owners and things there are, and how many owners the thing has.
    func saved() throws -> [Int] {
      let context = store.context()
      let things = try context.fetch(FetchRequest<ManagedObject>(entityName: "Thing"))
      return [
        try context.count(for: FetchRequest<ManagedObject>(entityName: "Owner")), things.count,
        things.first?.objectIDs(forRelationshipNamed: "owners").count ?? 0,
      ]
    }
  }

  @Test(
    "rules 212, 216: a link that comes later than the deletion goes, and what was linked stays",
    arguments: [DeleteRule.nullify, .cascade], Deleter.allCases)
  func later(rule: DeleteRule, deleter: Deleter) throws {
    for isManyToMany in [false, true] {
      let world = try World(rule, isManyToMany: isManyToMany)
      let child = world.child()
      switch deleter {
      case .parent:
        world.delete(world.root)
        world.root.processPendingChanges()
      case .sibling:
        let sibling = world.child()
        world.delete(sibling)
        try sibling.save()
      }
      world.link(child)
      try child.save()
      try world.root.save()
      #expect(try world.saved() == [0, 1, 0], "many-to-many: \(isManyToMany)")
      #expect(try world.store.problems() == [])
    }
  }

  @Test("rule 212: a link that comes earlier than a sibling's deletion is under the delete rule")
  func earlier() throws {
    for isManyToMany in [false, true] {
      let world = try World(.cascade, isManyToMany: isManyToMany)
      let (linker, deleter) = (world.child(), world.child())
      world.link(linker)
      try linker.save()
      world.delete(deleter)
      try deleter.save()
      try world.root.save()
      #expect(try world.saved() == [0, 0, 0], "many-to-many: \(isManyToMany)")
    }
  }

  @Test(
    "rules 212, 213: under deny a later reference forbids the deletion when the parent saves, and nothing is lost",
    arguments: Deleter.allCases)
  func denied(deleter: Deleter) throws {
    let world = try World(.deny, isManyToMany: false)
    let child = world.child()
    let context = deleter == .parent ? world.root : world.child()
    world.delete(context)
    context.processPendingChanges()
    if deleter == .sibling { try context.save() }
    world.link(child)
    try child.save()
    let error = #expect(throws: CoreDataError.self) { try world.root.save() }
    #expect(error?.code == .validationRelationshipDeniedDelete)
    #expect(try world.saved() == [1, 1, 0])
  }
}
