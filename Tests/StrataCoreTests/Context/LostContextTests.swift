import Foundation
import Synchronization
import Testing

@testable import StrataCore

/// What is said of objects that are read when their context has gone.
struct LostContextTests {
  private let coordinator: PersistentStoreCoordinator
  private let entityName = "Lost\(UInt64.random(in: 0..<UInt64.max))"

  init() throws {
    let thing = EntityDescription(entityName, properties: [AttributeDescription("size", .integer64)])
    let parts = RelationshipDescription("parts", to: thing, maxCount: 0)
    let whole = RelationshipDescription("whole", to: thing, maxCount: 1)
    (parts.inverseRelationship, whole.inverseRelationship) = (whole, parts)
    thing.properties += [parts, whole]
    coordinator = PersistentStoreCoordinator(managedObjectModel: ManagedObjectModel(entities: [thing]))
    try coordinator.addPersistentStore(PersistentStoreDescription.inMemory)
  }

  private final class Messages: StrataObserver {
    private let texts = Mutex<[String]>([])
    var all: [String] { texts.withLock { $0 } }

    func observe(_ event: StrataEvent) {
      if case .message(let message) = event { texts.withLock { $0.append(message.text) } }
    }
  }

  /// An object with one part, of a context that has gone, as `prepare` leaves it.
  private func orphan(_ prepare: (ManagedObjectContext, ManagedObject) throws -> Void) throws -> ManagedObject
  {
    let context = ManagedObjectContext(.confinement, coordinator: coordinator)
    let thing = try EntityDescription.insertNewObject(forEntityName: entityName, into: context)
    let part = try EntityDescription.insertNewObject(forEntityName: entityName, into: context)
    thing.setValue(5, forKey: "size")
    part.setValue(thing, forKey: "whole")
    try context.save()
    try prepare(context, thing)
    return thing
  }

  /// What is said while `body` runs. Only once in a process: another test may be the one that is told.
  private func said(_ body: () throws -> Void) throws -> [String] {
    for _ in 0..<100 {
      let messages = Messages()
      let installation = StrataObservers.install(messages, for: .messages)
      defer { installation.remove() }
      LostContext.wasTold.store(false, ordering: .relaxed)
      try body()
      let own = messages.all.filter { $0.contains(entityName) }
      if !own.isEmpty { return own }
    }
    return []
  }

  @Test("A fault that is read when its context has gone is told")
  func fault() throws {
    let texts = try said {
      let thing = try orphan { $0.refresh($1, mergeChanges: false) }
      #expect(thing.managedObjectContext == nil && thing.value(forKey: "size") as? Int64 ?? 0 == 0)
    }
    #expect(texts.count == 1 && texts.first?.contains("Keep the container or the context") == true)
  }

  @Test("Members that are asked for when the context has gone are told")
  func members() throws {
    let texts = try said {
      let thing = try orphan { context, thing in
        context.refresh(thing, mergeChanges: false)
        thing.fire()
      }
      #expect(thing.value(forKey: "size") as? Int64 == 5)
      let parts = try #require(thing.home.entity.relationships.first { $0.isToMany })
      #expect(thing.memberList(parts).isEmpty)
    }
    #expect(!texts.isEmpty)
  }

  @Test("Values that are there, and objects whose deletion was saved, are not told")
  func silence() throws {
    let messages = Messages()
    let installation = StrataObservers.install(messages, for: .messages)
    defer { installation.remove() }
    LostContext.wasTold.store(false, ordering: .relaxed)
    let thing = try orphan { _, _ in }
    #expect(thing.value(forKey: "size") as? Int64 == 5)
    let gone = try orphan { context, thing in
      context.delete(thing)
      try context.save()
    }
    let parts = try #require(gone.home.entity.relationships.first { $0.isToMany })
    _ = gone.memberList(parts)
    #expect(!messages.all.contains { $0.contains(entityName) })
  }
}
