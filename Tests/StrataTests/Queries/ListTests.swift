import Foundation
import Strata
import Testing

/// Lists in predicates: of one object, compared with options, with negated comparisons of their members, and objects compared with
/// each other; with and without indexes, as they are stored and with unsaved changes laid over.
@Suite struct ListTests {
  /// Calls `body` with the stand as it is stored, with something unsaved of each entity, and one level up.
  private func forEachStand(_ body: (QueryStand, ManagedObjectContext) throws -> Void) throws {
    for isIndexed in [true, false] {
      let stand = try QueryStand(isIndexed: isIndexed)
      try body(stand, stand.context)
      for (entity, key, value) in [
        ("Agent", "name", "bob"), ("Place", "code", "LGA"), ("Visit", "note", "v2"),
      ] {
        try stand.object(entity, key, value).setValue(7, forKey: "serial")
      }
      try body(stand, stand.context)
      try body(stand, ManagedObjectContext(.confinement, parent: stand.context))
    }
  }

  private func agents(
    _ stand: QueryStand, _ context: ManagedObjectContext, _ format: String, _ arguments: Any?...
  ) throws -> [String] {
    let predicate = try FetchPredicate(format: format, argumentArray: arguments)
    // What is written is read as the same.
    #expect(try FetchPredicate(format: predicate.description) == predicate)
    return try stand.agents(predicate, context)
  }

  private func places(
    _ stand: QueryStand, _ context: ManagedObjectContext, _ format: String, _ arguments: Any?...
  ) throws -> [String] {
    try stand.names("Place", "code", try FetchPredicate(format: format, argumentArray: arguments), context)
  }

  @Test("rule 107: a list of one object is a list, as one of none or two is")
  func listsOfOneObject() throws {
    try forEachStand { (stand, context) throws in
      let ann = try stand.object("Agent", "name", "ann")
      let dan = try stand.object("Agent", "name", "dan")
      for list in [[], [ann], [ann, dan]] {
        let found = list.isEmpty ? [] : ["bob", "cid"]
        #expect(try agents(stand, context, "%@ CONTAINS boss", list) == found)
        #expect(try agents(stand, context, "ANY %@ == boss", list) == found)
        #expect(try agents(stand, context, "boss IN %@", list) == found)
        #expect(try agents(stand, context, "boss IN %@", Set(list)) == found)
        #expect(
          try agents(stand, context, "count:(%@) == %d", list, list.count) == ["ann", "bob", "cid", "dan"])
        let identifiers = FetchExpression.objects(list.map(\.objectID))
        #expect(try stand.agents(.compare(identifiers, .contains, .key("boss")), context) == found)
        #expect(try stand.agents(.compare(identifiers, .equal, .key("boss"), .any), context) == found)
        // What is not a single object is not compared with one.
        #expect(throws: FetchError.self) { try agents(stand, context, "boss == %@", list) }
      }
      #expect(try agents(stand, context, "{%@} CONTAINS boss", ann) == ["bob", "cid"])
      #expect(try agents(stand, context, "{%@, %@} CONTAINS boss", ann, dan) == ["bob", "cid"])
      #expect(try agents(stand, context, "ANY (%@).base == base", [ann]) == ["ann"])
      #expect(try agents(stand, context, "ALL (%@).name == name", [ann]) == ["ann"])
      #expect(try agents(stand, context, "boss == %@", ann) == ["bob", "cid"])
      #expect(try agents(stand, context, "ANY ({%@, boss}).base == base", ann) == ["ann"])
      #expect(throws: FetchError.self) { try agents(stand, context, "{base, boss} CONTAINS boss") }
    }
  }

  @Test("rule 107: keys behind named objects are those that all of them have")
  func listsOfObjectsOfSeveralEntities() throws {
    try forEachStand { (stand, context) throws in
      let pilot = try stand.object("Agent", "name", "cid")
      let agent = try stand.object("Agent", "name", "ann")
      #expect(pilot.entity.name == "Pilot" && agent.entity.name == "Agent")
      for list in [[pilot, agent], [agent, pilot]] {
        #expect(throws: FetchError.self) { try agents(stand, context, "ANY (%@).hours == 1", list) }
        #expect(try agents(stand, context, "ANY (%@).name == name", list) == ["ann", "cid"])
      }
      #expect(throws: FetchError.self) {
        try agents(stand, context, "ANY ({%@, %@}).hours == 1", pilot, agent)
      }
    }
  }

  @Test("rule 108: CONTAINS on a list compares with its options, as IN does")
  func optionsOfContains() throws {
    try forEachStand { (stand, context) throws in
      #expect(try places(stand, context, "{'jfk', 'lga'} CONTAINS[c] code") == ["JFK", "LGA"])
      #expect(try places(stand, context, "code IN[c] {'jfk', 'lga'}") == ["JFK", "LGA"])
      #expect(try places(stand, context, "{'jfk', 'lga'} CONTAINS code") == [])
      #expect(try places(stand, context, "%@ CONTAINS[cd] name", ["kénnedy", "Newark"]) == ["EWR", "JFK"])
      #expect(try places(stand, context, "%@ CONTAINS[d] name", ["kénnedy", "Newärk"]) == ["EWR"])
      #expect(try places(stand, context, "NOT %@ CONTAINS[c] code", ["jfk"]) == ["EWR", "LGA"])
      #expect(try places(stand, context, "{'jfk'} CONTAINS[c] 'JFK'").count == 3)
      #expect(try places(stand, context, "{lowercase(code), 'x'} CONTAINS[c] code").count == 3)
      // The names of members.
      let staff = "staff.name CONTAINS[c] TERNARY(name == 'ann', 'BOB', 'BÖB')"
      #expect(try agents(stand, context, staff) == ["ann"])
      // A value that is nil.
      #expect(try agents(stand, context, "{'x', nil} CONTAINS[c] nick").count == 4)
      #expect(try agents(stand, context, "{'x', 'y'} CONTAINS[c] nick") == [])
    }
  }

  @Test("rule 109: a negated comparison is asked of the members one by one")
  func negatedComparisonsOfMembers() throws {
    try forEachStand { (stand, context) throws in
      func found(_ format: String) throws -> [String] { try agents(stand, context, format) }
      #expect(try found("ANY visits.score NOT IN {5}") == ["ann", "cid"])
      #expect(try found("SUBQUERY(visits, $v, $v.score NOT IN {5}).@count > 0") == ["ann", "cid"])
      #expect(try found("SOME visits.score NOT IN {5, 2}") == ["ann"])
      #expect(try found("ALL visits.score NOT IN {5}") == ["cid", "dan"])
      #expect(try found("NONE visits.score NOT IN {5}") == ["bob", "dan"])
      #expect(try found("NOT ANY visits.score NOT IN {5}") == ["bob", "dan"])
      #expect(try found("ANY visits.score NOT BETWEEN {2, 5}") == ["ann"])
      #expect(try found("ANY visits.note NOT LIKE[c] 'V5'") == ["ann", "cid"])
      #expect(try found("ANY visits.note NOT IN[c] {'V5', 'V2'}") == ["ann"])
      // A way that leads nowhere is nil, which is not in the list.
      #expect(try found("ANY visits.place.code NOT IN {'JFK'}") == ["bob", "cid"])
      #expect(try found("ALL visits.place.code NOT IN {'JFK'}") == ["bob", "cid", "dan"])
      #expect(try found("ANY visits.place NOT IN {SELF.base}") == ["cid"])
      #expect(try found("ANY visits.score NOT IN {medium + 4, 5} AND medium < 9") == ["ann", "cid"])
      for format in ["ANY visits.score NOT IN {5}", "NONE visits.note NOT LIKE 'v5'"] {
        let predicate = try FetchPredicate(format: format)
        let again = try FetchPredicate(format: predicate.description)
        #expect(again == predicate && again.description == predicate.description)
        #expect(try stand.agents(again, context) == found(format))
        let request = FetchRequest<ManagedObject>(entityName: "Agent", predicate: predicate)
        #expect(try context.explain(request, .executing).returned == found(format).count)
      }
    }
    let words = try FetchPredicate(format: "ANY visits.score NOT IN {5}").description
    #expect(words == "NOT (ALL visits.score IN {5})")
    for wrong in ["ANY NOT visits.score IN {5}", "ANY (visits.score NOT IN {5})", "ANY ANY a NOT IN {5}"] {
      #expect(throws: PredicateSyntaxError.self) { try FetchPredicate(format: wrong) }
    }
  }

  @Test("rule 107: objects that are named are compared by what they are, wherever they come from")
  func namedObjects() throws {
    let other = try QueryStand()
    let (ann2, bob2, cid2) = (
      try other.object("Agent", "name", "ann"), try other.object("Agent", "name", "bob"),
      try other.object("Agent", "name", "cid")
    )
    let all = ["ann", "bob", "cid", "dan"]
    try forEachStand { (stand, context) throws in
      func found(_ format: String, _ arguments: Any?...) throws -> [String] {
        try stand.agents(try FetchPredicate(format: format, argumentArray: arguments), context)
      }
      #expect(try found("%@ == %@", ann2, bob2) == [])
      #expect(try found("%@ != %@", ann2, bob2) == all)
      #expect(try found("%@ == %@", ann2, ann2) == all)
      #expect(try found("%@ IN %@", ann2, [bob2, cid2]) == [])
      #expect(try found("%@ IN %@", ann2, [bob2, ann2]) == all)
      #expect(try found("%@ CONTAINS %@", [ann2, cid2], bob2) == [])
      #expect(try found("ANY %@ == %@", [ann2, cid2], cid2) == all)
      #expect(try found("coalesce(%@, boss) == %@", ann2, bob2) == [])
      #expect(try found("TERNARY(name == 'ann', %@, %@) == %@", ann2, bob2, ann2) == ["ann"])
      // Objects of two entities of one store, and of one entity of two stores, that have the same key.
      func key(_ object: ManagedObject) -> String { object.objectID.uriRepresentation().lastPathComponent }
      let ann = try stand.object("Agent", "name", "ann")
      let agents = try ["ann", "bob", "cid", "dan"].map { try stand.object("Agent", "name", $0) }
      let places = try ["JFK", "LGA", "EWR"].map { try stand.object("Place", "code", $0) }
      let pair = try #require(
        places.lazy.compactMap { place in agents.first { key($0) == key(place) }.map { (place, $0) } }.first)
      #expect(try found("%@ == %@", pair.0, pair.1) == [])
      #expect(try found("%@ IN {%@, %@}", pair.0, pair.1, ann) == [])
      #expect(try found("%@ == %@", pair.1, pair.1) == all)
      let twin = try #require([ann2, bob2, cid2].first { key($0) == key(ann) })
      #expect(try found("%@ == %@", ann, twin) == [])
      #expect(try found("SELF == %@ OR boss == %@", twin, twin) == [])
      // A list of what is named and what is looked at.
      #expect(try found("%@ IN {%@, boss}", ann, twin) == ["bob", "cid"])
      #expect(try found("%@ IN {%@, boss}", pair.0, ann2) == [])
    }
  }
}
