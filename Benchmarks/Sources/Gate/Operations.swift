import Foundation
import Strata

/// One thing that programs do often.
struct Operation {
  let name: String
  /// What one of the operation's figures is about.
  let unit: String
  /// Prepares the work in fresh contexts and returns it; the work returns how many units it has done.
  let prepare: (World) throws -> () throws -> Int

  static var all: [Operation] { objects + accessors + requests + saves }
}

extension Operation {
  private static var objects: [Operation] {
    [
      Operation(name: "insert", unit: "object made and filled") { world in
        let context = world.makeContext()
        return {
          context.performAndWait { for number in 0..<500 { Person(context: context).fill(number) } };
          return 500
        }
      },
      Operation(name: "set", unit: "attribute of an object with its values") { world in
        let people = try Holder(world) { try $0.fetch(FetchRequest<Person>(entityName: "Person")) }
        return {
          people.inContext { people in
            for (number, person) in people.enumerated() { person.age = Int64(number) }
          }
          return World.people
        }
      },
      Operation(name: "read", unit: "attribute of an object with its values") { world in
        let people = try Holder(world) { try $0.fetch(FetchRequest<Person>(entityName: "Person")) }
        return {
          let sum = people.inContext { people in people.reduce(Int64(0)) { $0 &+ $1.age } }
          return sum > 0 ? World.people : 0
        }
      },
      Operation(name: "fault", unit: "object by ID, its row read at the first attribute") { world in
        let context = world.makeContext()
        return {
          context.performAndWait {
            for id in world.identifiers { _ = (context.object(with: id) as? Person)?.age }
          }
          return world.identifiers.count
        }
      },
      Operation(name: "existing object", unit: "object by ID, read") { world in
        let context = world.makeContext()
        return {
          try context.performAndWait {
            for id in world.identifiers { _ = try context.existingObject(with: id) }
          }
          return world.identifiers.count
        }
      },
      Operation(name: "to-one", unit: "walk from a person to its team") { world in
        let people = try Holder(world) { try $0.fetch(FetchRequest<Person>(entityName: "Person")) }
        return {
          let named = people.inContext { people in people.count { $0.team?.name != nil } }
          return named
        }
      },
      Operation(name: "to-many", unit: "member walked") { world in
        let teams = try Holder(world) { try $0.fetch(FetchRequest<Team>(entityName: "Team")) }
        return {
          teams.inContext { teams in
            var members = 0
            for team in teams { for member in team.members where member.age >= 0 { members += 1 } }
            return members
          }
        }
      },
    ]
  }

  private static var requests: [Operation] {
    [
      Operation(name: "fetch", unit: "row fetched as an object") { world in
        let context = world.makeContext()
        return {
          try context.performAndWait { try context.fetch(FetchRequest<Person>(entityName: "Person")).count }
        }
      },
      Operation(name: "fetch again", unit: "row whose object is here") { world in
        let people = try Holder(world) { try $0.fetch(FetchRequest<Person>(entityName: "Person")) }
        return {
          try people.inContext { _ in
            try people.context.fetch(FetchRequest<Person>(entityName: "Person")).count
          }
        }
      },
      Operation(name: "scan", unit: "row looked at by a predicate without an index") { world in
        let context = world.makeContext()
        let request = FetchRequest<Person>(entityName: "Person", predicate: Attribute("salary") == 15.0)
        return { try context.performAndWait { try context.fetch(request).count == 1 ? World.people : 0 } }
      },
      Operation(name: "by index", unit: "row found by an index") { world in
        let context = world.makeContext()
        let request = FetchRequest<Person>(entityName: "Person", predicate: Attribute("age") == 7)
        return { try context.performAndWait { try context.fetch(request).count } }
      },
      Operation(name: "sort", unit: "row sorted by a text") { world in
        let context = world.makeContext()
        let request = FetchRequest<Person>(entityName: "Person", sortDescriptors: [FetchSort("name")])
        return { try context.performAndWait { try context.fetch(request).count } }
      },
      Operation(name: "count", unit: "count by an index") { world in
        let context = world.makeContext()
        let request = FetchRequest<Person>(entityName: "Person", predicate: Attribute("age") == 7)
        return {
          try context.performAndWait { for _ in 0..<100 { _ = try context.count(for: request) } }
          return 100
        }
      },
      Operation(name: "child fetch", unit: "row fetched in a child above unsaved edits") { world in
        let people = try Holder(world) { try $0.fetch(FetchRequest<Person>(entityName: "Person")) }
        people.inContext { people in for person in people.prefix(100) { person.age += 1 } }
        let child = world.makeContext(parent: people.context)
        return {
          defer { withExtendedLifetime(people) {} }
          return try child.performAndWait {
            try child.fetch(FetchRequest<Person>(entityName: "Person")).count
          }
        }
      },
    ]
  }

  private static var saves: [Operation] {
    [
      Operation(name: "save of one", unit: "object made and saved") { world in
        let context = world.makeContext()
        return {
          try context.performAndWait {
            for number in 0..<50 {
              Person(context: context).fill(number)
              try context.save()
            }
          }
          return 50
        }
      },
      Operation(name: "save of an edit", unit: "attribute set and saved") { world in
        let people = try Holder(world) { try $0.fetch(FetchRequest<Person>(entityName: "Person")) }
        return {
          try people.inContext { objects in
            for person in objects.prefix(50) {
              person.age += 1
              try people.context.save()
            }
          }
          return 50
        }
      },
      Operation(name: "save of many", unit: "object in a save of 500 inserted") { world in
        let context = world.makeContext()
        context.performAndWait { for number in 0..<500 { Person(context: context).fill(number) } }
        return {
          try context.performAndWait { try context.save() }
          return 500
        }
      },
      Operation(name: "child save", unit: "edited object saved to the parent") { world in
        let parent = world.makeContext()
        let child = world.makeContext(parent: parent)
        try child.performAndWait {
          for person in try child.fetch(FetchRequest<Person>(entityName: "Person")) { person.age += 1 }
        }
        return {
          try child.performAndWait { try child.save() }
          // What the parent does about it on its own queue is part of it, however the threads run.
          parent.performAndWait {}
          return World.people
        }
      },
      Operation(name: "merge", unit: "edited object merged into a context that holds it") { world in
        let people = try Holder(world) { try $0.fetch(FetchRequest<Person>(entityName: "Person")) }
        let writer = world.makeContext()
        let box = NotificationBox()
        let token = NotificationCenter.default.addObserver(
          forName: ManagedObjectContext.didSaveObjectsNotification, object: writer, queue: nil
        ) { box.notification = $0 }
        defer { NotificationCenter.default.removeObserver(token) }
        try writer.performAndWait {
          for person in try writer.fetch(FetchRequest<Person>(entityName: "Person")) { person.age += 1 }
          try writer.save()
        }
        return {
          guard let notification = box.notification else { return 0 }
          people.inContext { _ in people.context.mergeChanges(fromContextDidSave: notification) }
          return World.people
        }
      },
      Operation(name: "batch insert", unit: "row inserted by a batch") { world in
        let context = world.makeContext()
        return {
          let rows: [[String: Any]] = (0..<500).map { ["name": "Person \($0)", "age": $0] }
          _ = try context.performAndWait {
            try context.execute(BatchInsertRequest(entityName: "Person", objects: rows))
          }
          return 500
        }
      },
    ]
  }
}

/// Objects that are held in their context between preparing and measuring.
final class Holder<Object: ManagedObject> {
  let context: ManagedObjectContext
  // Unsafe: used on the context's queue only.
  private nonisolated(unsafe) var objects: [Object] = []

  init(_ world: World, _ fetch: (ManagedObjectContext) throws -> [Object]) throws {
    let context = world.makeContext()
    self.context = context
    objects = try context.performAndWait {
      // Unsafe: handed over while nothing else uses the context.
      nonisolated(unsafe) let objects = try fetch(context)
      return objects
    }
  }

  func inContext<Result>(_ work: ([Object]) throws -> Result) rethrows -> Result {
    try context.performAndWait { try work(objects) }
  }
}

/// Unchecked: written by the thread that saves, before it is read.
private final class NotificationBox: @unchecked Sendable {
  var notification: Notification?
}
