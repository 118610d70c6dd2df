import Foundation
import StrataCore

extension StoreConformance {
  static let relationshipCases: [ConformanceCase] = toOneCases + toManyCases + orderedCases + travelCases

  /// A stand with two contexts on one coordinator: one that changes, one that looks.
  private static func pair(_ stand: ConformanceStand) throws -> (
    ManagedObjectContext, () -> ManagedObjectContext
  ) {
    let coordinator = try stand.open()
    return (stand.context(on: coordinator), { stand.context(on: coordinator) })
  }

  private static let toOneCases: [ConformanceCase] = [
    ConformanceCase("to-one", "set, and the inverse with it") { stand in
      let (context, other) = try pair(stand)
      let boss = context.make("Person", ["name": "boss"])
      let worker = context.make("Person", ["name": "worker", "boss": boss])
      try context.save()
      try expectEqual(boss.members("team"), [worker], "the inverse")
      let seen = other()
      try expectEqual(
        try seen.one("Person", "name", "worker").object("boss")?.text("name"), "boss", "the boss")
      try expectEqual(
        texts(try seen.one("Person", "name", "boss").members("team"), "name"), ["worker"], "the team")
    },
    ConformanceCase("to-one", "replaced") { stand in
      let (context, other) = try pair(stand)
      let bosses = ["b0", "b1"].map { context.make("Person", ["name": $0]) }
      let worker = context.make("Person", ["name": "w", "boss": bosses[0]])
      try context.save()
      worker.setValue(bosses[1], forKey: "boss")
      try context.save()
      let seen = other()
      try expectEqual(try seen.one("Person", "name", "w").object("boss")?.text("name"), "b1", "the boss")
      try expect(
        try seen.one("Person", "name", "b0").members("team").isEmpty, "the first boss has a team still")
    },
    ConformanceCase("to-one", "taken away") { stand in
      let (context, other) = try pair(stand)
      let worker = context.make("Person", ["name": "w", "boss": context.make("Person", ["name": "b"])])
      try context.save()
      worker.setValue(nil, forKey: "boss")
      try context.save()
      try expect(try other().one("Person", "name", "w").object("boss") == nil, "there is a boss still")
      try expect(try other().one("Person", "name", "b").members("team").isEmpty, "there is a team still")
    },
    ConformanceCase("to-one", "set from the other side") { stand in
      let (context, other) = try pair(stand)
      let workers = ["w0", "w1"].map { context.make("Person", ["name": $0]) }
      context.make("Person", ["name": "b", "team": Set(workers)])
      try context.save()
      let found = try other().one("Person", "name", "w1")
      try expectEqual(found.object("boss")?.text("name"), "b", "the boss")
    },
    ConformanceCase("to-one", "an object that leads to itself") { stand in
      let (context, other) = try pair(stand)
      let person = context.make("Person", ["name": "p"])
      person.setValue(person, forKey: "boss")
      try context.save()
      let found = try other().one("Person", "name", "p")
      try expect(
        found.object("boss") === found && found.members("team") == [found], "it does not lead to itself")
    },
    ConformanceCase("to-one", "a cycle of new objects") { stand in
      let (context, other) = try pair(stand)
      let ring = (0..<4).map { context.make("Person", ["name": "p\($0)"]) }
      for place in 0..<4 { ring[place].setValue(ring[(place + 1) % 4], forKey: "boss") }
      try context.save()
      var person = try other().one("Person", "name", "p0")
      var names: [String] = []
      for _ in 0..<5 {
        names.append(person.text("name"))
        guard let next = person.object("boss") else { break }
        person = next
      }
      try expectEqual(names, ["p0", "p1", "p2", "p3", "p0"], "the ring")
    },
    ConformanceCase("one-to-one", "set and moved") { stand in
      let (context, other) = try pair(stand)
      let people = ["a", "b"].map { context.make("Person", ["name": $0]) }
      let desk = context.make("Desk", ["room": "1", "owner": people[0]])
      try context.save()
      people[1].setValue(desk, forKey: "desk")
      try context.save()
      let seen = other()
      try expect(
        try seen.one("Person", "name", "a").object("desk") == nil, "the first owner has the desk still")
      try expectEqual(try seen.one("Desk", "room", "1").object("owner")?.text("name"), "b", "the owner")
    },
    ConformanceCase("one-to-one", "swapped") { stand in
      let (context, other) = try pair(stand)
      let desks = ["1", "2"].map { context.make("Desk", ["room": $0]) }
      let people = ["a", "b"].enumerated().map { context.make("Person", ["name": $1, "desk": desks[$0]]) }
      try context.save()
      people[0].setValue(desks[1], forKey: "desk")
      people[1].setValue(desks[0], forKey: "desk")
      try context.save()
      let seen = other()
      for (name, room) in [("a", "2"), ("b", "1")] {
        try expectEqual(
          try seen.one("Person", "name", .string(name)).object("desk")?.text("room"), room,
          "the desk of \(name)")
        try expectEqual(
          try seen.one("Desk", "room", .string(room)).object("owner")?.text("name"), name,
          "the owner of \(room)")
      }
    },
    ConformanceCase("to-one", "without inverse") { stand in
      let (context, other) = try pair(stand)
      let mentor = context.make("Person", ["name": "m"])
      let pupil = context.make("Person", ["name": "p", "mentor": mentor])
      try context.save()
      try expectEqual(
        try other().one("Person", "name", "p").object("mentor")?.text("name"), "m", "the mentor")
      pupil.setValue(nil, forKey: "mentor")
      try context.save()
      try expect(try other().one("Person", "name", "p").object("mentor") == nil, "there is a mentor still")
    },
    ConformanceCase("to-one", "to an object of a subentity") { stand in
      let (context, other) = try pair(stand)
      context.make(
        "Person", ["name": "w", "boss": context.make("Manager", ["name": "m", "level": 3 as Int64])])
      try context.save()
      let boss = try other().one("Person", "name", "w").object("boss")
      try expectEqual(boss?.entity.name, "Manager", "the entity")
      try expectEqual(boss?.integer("level"), 3, "the level")
    },
  ]

  private static let toManyCases: [ConformanceCase] =
    [1, 3, 200].flatMap { count in
      [
        ConformanceCase("to-many", "\(count) members of a one-to-many") { stand in
          let (context, other) = try pair(stand)
          let boss = context.make("Person", ["name": "boss"])
          for number in 0..<count { context.make("Person", ["name": "w\(number)", "boss": boss]) }
          try context.save()
          let found = try other().one("Person", "name", "boss").members("team")
          try expectEqual(Set(texts(found, "name")), Set((0..<count).map { "w\($0)" }), "the team")
        },
        ConformanceCase("to-many", "\(count) members of a many-to-many, from both sides") { stand in
          let (context, other) = try pair(stand)
          let groups = (0..<count).map { context.make("Group", ["title": "g\($0)"]) }
          let people = ["a", "b"].map { context.make("Person", ["name": $0, "groups": Set(groups)]) }
          try context.save()
          let seen = other()
          let names = Set(groups.map { $0.text("title") })
          try expectEqual(
            Set(texts(try seen.one("Person", "name", "b").members("groups"), "title")), names, "the groups")
          try expectEqual(
            Set(texts(try seen.one("Group", "title", "g0").members("people"), "name")), ["a", "b"],
            "the people")
          people[0].setValue(Set([groups[0]]), forKey: "groups")
          try context.save()
          try expectEqual(
            texts(try other().one("Person", "name", "a").members("groups"), "title"), ["g0"], "what is left")
          let last = try other().one("Group", "title", .string("g\(count - 1)"))
          try expectEqual(
            Set(texts(last.members("people"), "name")), count == 1 ? ["a", "b"] : ["b"], "the other side")
        },
      ]
    } + [
      ConformanceCase("to-many", "a member moves from one owner to another") { stand in
        let (context, other) = try pair(stand)
        let bosses = ["b0", "b1"].map { context.make("Person", ["name": $0]) }
        let workers = ["w0", "w1"].map { context.make("Person", ["name": $0, "boss": bosses[0]]) }
        try context.save()
        bosses[1].setValue(Set([workers[0]]), forKey: "team")
        try context.save()
        let seen = other()
        try expectEqual(
          texts(try seen.one("Person", "name", "b0").members("team"), "name"), ["w1"], "who stays")
        try expectEqual(
          texts(try seen.one("Person", "name", "b1").members("team"), "name"), ["w0"], "who moves")
      },
      ConformanceCase("to-many", "the members before a change are saved, and after it") { stand in
        let (context, other) = try pair(stand)
        let boss = context.make("Person", ["name": "b"])
        try context.save()
        for round in 0..<5 {
          context.make("Person", ["name": "w\(round)", "boss": boss])
          try context.save()
          try expectEqual(try other().one("Person", "name", "b").members("team").count, round + 1, "members")
        }
      },
      ConformanceCase("to-many", "two contexts add members of their own") { stand in
        let coordinator = try stand.open()
        let first = stand.context(on: coordinator)
        first.make("Group", ["title": "g"])
        try first.save()
        for name in ["a", "b", "c"] {
          let context = stand.context(on: coordinator)
          let group = try context.one("Group", "title", "g")
          context.make("Person", ["name": name, "groups": Set([group])])
          try context.save()
        }
        let found = try stand.context(on: coordinator).one("Group", "title", "g")
        try expectEqual(Set(texts(found.members("people"), "name")), ["a", "b", "c"], "the people")
      },
      ConformanceCase("to-many", "changes are discarded by rollback") { stand in
        let (context, _) = try pair(stand)
        let group = context.make("Group", ["title": "g"])
        let person = context.make("Person", ["name": "p", "groups": Set([group])])
        try context.save()
        person.setValue(Set<ManagedObject>(), forKey: "groups")
        context.rollback()
        try expectEqual(person.members("groups"), [group], "the groups")
        try expectEqual(group.members("people"), [person], "the people")
      },
      ConformanceCase("to-many", "members of several owners are prefetched") { stand in
        let (context, other) = try pair(stand)
        for boss in 0..<5 {
          let owner = context.make("Person", ["name": "b\(boss)"])
          for worker in 0..<boss { context.make("Person", ["name": "w\(boss)\(worker)", "boss": owner]) }
        }
        try context.save()
        var request = FetchRequest<ManagedObject>(entityName: "Person")
        request.predicate = try FetchPredicate(format: "name BEGINSWITH 'b'")
        request.sortDescriptors = [FetchSort("name")]
        request.relationshipKeyPathsForPrefetching = ["team"]
        let found = try other().fetch(request)
        try expectEqual(found.map { $0.members("team").count }, [0, 1, 2, 3, 4], "members")
      },
    ]

  /// A diary of five pages becomes one of these, in this order.
  private static func diary(_ stand: ConformanceStand, _ order: [Int]) throws {
    let (context, other) = try pair(stand)
    let writer = context.make("Person", ["name": "p"])
    let pages = (0..<5).map { context.make("Page", ["text": "\($0)"]) }
    writer.setValue(pages, forKey: "diary")
    try context.save()
    let before = try other().one("Person", "name", "p").list("diary")
    try expectEqual(texts(before, "text"), ["0", "1", "2", "3", "4"], "before")
    let wanted = order.map { "\($0)" }
    writer.setValue(order.map { pages[$0] }, forKey: "diary")
    try expectEqual(texts(writer.list("diary"), "text"), wanted, "before the save")
    try context.save()
    try expectEqual(texts(writer.list("diary"), "text"), wanted, "after the save")
    let after = try other().one("Person", "name", "p").list("diary")
    try expectEqual(texts(after, "text"), wanted, "in another context")
  }

  private static let orderedCases: [ConformanceCase] =
    ([
      ("turned round", [4, 3, 2, 1, 0]), ("the last comes first", [4, 0, 1, 2, 3]),
      ("one moves in the middle", [0, 3, 1, 2, 4]), ("some go", [1, 3]), ("two swap", [4, 1, 2, 3, 0]),
      ("all go", []), ("nothing changes", [0, 1, 2, 3, 4]),
    ] as [(String, [Int])]).map { name, order in
      ConformanceCase("ordered", name) { stand in try diary(stand, order) }
    } + [
      ConformanceCase("ordered", "members are added one by one, save by save") { stand in
        let (context, other) = try pair(stand)
        let writer = context.make("Person", ["name": "p"])
        for number in 0..<6 {
          let page = context.make("Page", ["text": "\(number)"])
          let old = writer.list("diary")
          writer.setValue(number % 2 == 0 ? old + [page] : [page] + old, forKey: "diary")
          try context.save()
        }
        let found = try other().one("Person", "name", "p").list("diary")
        try expectEqual(texts(found, "text"), ["5", "3", "1", "0", "2", "4"], "the order")
      }
    ]

  private static func team(_ stand: ConformanceStand, _ format: String, _ wanted: [String]) throws {
    let (context, other) = try pair(stand)
    let bosses = ["ann", "bob", "cy"].map { context.make("Person", ["name": $0]) }
    let groups = ["red", "blue"].map { context.make("Group", ["title": $0]) }
    for (number, name) in ["dan", "eve", "fay"].enumerated() {
      context.make(
        "Person", ["name": name, "boss": bosses[number / 2], "groups": Set(groups[0...(number % 2)])])
    }
    context.make("Desk", ["room": "7", "owner": bosses[0]])
    try context.save()
    let found = try other().all("Person", format: format, by: "name")
    try expectEqual(texts(found, "name"), wanted, "what \(format) finds")
    // The same with everything edited, which is decided above the store.
    let edited = other()
    for person in try edited.all("Person") { person.setValue(person.text("name"), forKey: "name") }
    try expectEqual(texts(try edited.all("Person", format: format, by: "name"), "name"), wanted, "with edits")
  }

  private static let travelCases: [ConformanceCase] =
    ([
      ("boss.name == 'ann'", ["dan", "eve"]), ("boss == nil", ["ann", "bob", "cy"]),
      ("boss != nil", ["dan", "eve", "fay"]),
      ("boss.boss == nil AND boss != nil", ["dan", "eve", "fay"]), ("desk.room == '7'", ["ann"]),
      ("boss.desk.room == '7'", ["dan", "eve"]), ("ANY team.name == 'fay'", ["bob"]),
      ("ANY groups.title == 'blue'", ["eve"]), ("team.@count == 2", ["ann"]),
      ("team.@count > 0", ["ann", "bob"]),
      ("groups.@count == 1", ["dan", "fay"]),
      ("SUBQUERY(team, $t, $t.name BEGINSWITH 'e').@count == 1", ["ann"]),
      ("SUBQUERY(groups, $g, $g.title == 'red').@count == 1 AND boss.name == 'bob'", ["fay"]),
      ("ANY team.groups.title == 'blue'", ["ann"]), ("NONE groups.title == 'red'", ["ann", "bob", "cy"]),
    ] as [(String, [String])]).map { format, wanted in
      ConformanceCase("along relationships", format) { stand in try team(stand, format, wanted) }
    } + [
      ConformanceCase("along relationships", "to an object, by itself") { stand in
        let (context, other) = try pair(stand)
        let boss = context.make("Person", ["name": "b"])
        for name in ["x", "y"] { context.make("Person", ["name": name, "boss": boss]) }
        try context.save()
        let seen = other()
        let found = try seen.all(
          "Person", format: "boss == %@", [seen.object(with: boss.objectID)], by: "name")
        try expectEqual(texts(found, "name"), ["x", "y"], "the team")
      }
    ]
}
