import Foundation
import InMemoryLogging
import Logging
import Testing

@testable import StrataCore
@testable import StrataTelemetry

extension InMemoryLogHandler.Entry {
  subscript(key: String) -> String? { metadata["strata." + key].map { "\($0)" } }
  var text: String { "\(message)" }
}

extension InMemoryLogHandler {
  /// A logger that keeps what is logged from a level on, and what it keeps.
  static func make(_ level: Logger.Level = .trace) -> (logger: Logger, handler: InMemoryLogHandler) {
    var handler = InMemoryLogHandler()
    handler.logLevel = level
    return (Logger(label: "test") { [handler] _ in handler }, handler)
  }
}

/// What several threads say.
private final class Names: Sendable {
  private let kept = Mutex<[String?]>([])
  func add(_ name: String?) { kept.withLock { $0.append(name) } }
  var list: [String?] { kept.withLock { $0 } }
}

extension TelemetryTests {
  /// What becomes log lines.
  struct Logs {
    let club: Club
    let logger: Logger
    let handler: InMemoryLogHandler

    init() throws {
      club = try Club()
      (logger, handler) = InMemoryLogHandler.make()
    }

    /// The lines about this test's contexts.
    private func written(
      _ change: (inout Telemetry.Options) -> Void = { _ in }, _ body: () throws -> Void
    ) rethrows -> [InMemoryLogHandler.Entry] {
      var options = Telemetry.Options()
      (options.logger, options.metrics, options.tracer) = (logger, nil, nil)
      change(&options)
      let telemetry = Telemetry.start(options)
      defer { telemetry.stop() }
      try body()
      telemetry.observer.awaitNaming()
      return handler.entries.filter {
        $0["context"]?.contains(club.tag) == true || $0.text.contains(club.tag)
      }
    }

    @Test("saves, fetches and faults are lines of levels that say how unusual they are")
    func levels() throws {
      try club.fill(teams: 1, people: 2)
      let lines = try written {
        let context = club.context()
        let person = try context.fetch(club.people(Attribute("name") == "person 0.0"))[0]
        _ = person.team?.name
        person.age = 99
        try context.save()
        Person(context: context).code = "x"
        Person(context: context).code = "x"
        #expect(throws: (any Error).self) { try context.save() }
      }
      #expect(lines.map(\.text) == ["fetch", "fault", "save", "conflict not settled", "save failed"])
      #expect(lines.map(\.level) == [.debug, .trace, .debug, .info, .warning])
      try #require(lines.count == 5)
      #expect(lines[0]["entity"] == "Person")
      #expect(lines[0]["returned"] == "1")
      #expect(lines[0]["plan"] != nil)
      #expect(lines[0]["predicate"] == nil)
      #expect(lines[1]["relationship"] == "Person.team")
      #expect(lines[2]["updated"] == "1")
      #expect(lines[3]["unique_values"] == "1")
      #expect(lines[4]["error"] == "CoreDataError 133021")
    }

    @Test("a slow fetch is told at notice; with values only when they are asked for")
    func slow() throws {
      try club.fill(teams: 1, people: 2)
      let lines = try written {
        $0.slowFetch = .zero
        $0.includesValues = true
      } _: {
        _ = try club.context().fetch(club.people(Attribute("name") == "secret"))
      }
      #expect(lines.map(\.text) == ["slow fetch"])
      #expect(lines.map(\.level) == [.notice])
      #expect(lines.first?["predicate"]?.contains("secret") == true)
    }

    @Test("what is below the logger's level is not written, what is not is")
    func quiet() throws {
      let (quiet, kept) = InMemoryLogHandler.make(.notice)
      _ = try written {
        $0.logger = quiet
        $0.slowFetch = .zero
      } _: {
        let context = club.context()
        _ = Person(context: context)
        try context.save()
        _ = try context.fetch(club.people())
      }
      let own = kept.entries.filter { $0["context"]?.contains(club.tag) == true }
      #expect(own.map(\.text) == ["slow fetch"])
    }

    @Test("messages of the library are lines of their level")
    func messages() throws {
      _ = written { _ = Stranger.entity() }
      let line = try #require(handler.entries.first { $0.text.hasPrefix("Stranger.entity()") })
      #expect(line.level == .warning)
      #expect(line["module"] == "Strata")
    }

    #if os(Linux) && compiler(>=6.2)
      @Test("faults in a loop name entity, relationship, function, file and line")
      func callSite() throws {
        try club.fill(teams: 20, people: 1)
        let context = club.context()
        var place: UInt = 0
        func walk(_ people: [Person]) {
          for person in people {
            place = #line + 1
            _ = person.team?.name
          }
        }
        let lines = try written { walk(try context.fetch(club.people())) }
        let line = try #require(lines.first { $0.level == .warning })
        #expect(line["entity"] == "Team")
        #expect(line["relationship"] == "Person.team")
        #expect(line["count"] == "16")
        #expect(line["function"]?.contains("walk") == true)
        #expect(line["file"]?.hasSuffix("LogTests.swift") == true)
        #expect(line["line"] == "\(place)")
        #expect(line["property"]?.contains("Team.name") == true)
        #expect(line.text.contains("LogTests.swift:\(place)"))
      }
    #endif

    #if os(Linux) && canImport(Runtime) && (arch(x86_64) || arch(arm64))
      /// The loader's table holds the program and the C library, each from its beginning to the end of its code, and the toolchain's module reads it.
      @Test func imagesAreThoseOfTheLoader() throws {
        let images = LoadedImages().images
        let program = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        #expect(images.contains { $0.path == program })
        #expect(images.contains { $0.path.contains("/libc.so") })
        #expect(images == images.sorted { $0.base < $1.base })
        for (image, next) in zip(images, images.dropFirst()) {
          #expect(image.base < image.endOfText && image.endOfText <= next.base)
        }
        #expect(LoadedImages().map()?.count == images.count)
      }
    #endif

    /// Nothing at these addresses is read.
    @Test func addressesThatLeadNowhereNameNoPlace() {
      #expect(CapturedStack([]).callSite() == nil)
      #expect(CapturedStack([0, 1, 0x7FFF_0000_0000, .max]).callSite() == nil)
    }

    @Test("the place is the innermost function of the program that is no accessor")
    func frames() {
      func function(_ mangled: String, _ name: String, _ file: String? = nil) -> CapturedStack.Function {
        CapturedStack.Function(mangled: mangled, name: name, file: file, line: 1)
      }
      let core = function("$s10StrataCore13ManagedObjectC4fireyyF", "ManagedObject.fire()", "Fault.swift")
      let getter = function("$s4Club4TeamC4nameSSvg", "Team.name.getter", "Team.swift")
      let map = function("$sSTsE3mapySayqd__Gqd__7ElementQzqd_0_KXEqd_0_YKF", "Sequence.map")
      let thunk = function("$s4Club4walkyyFTR", "thunk", "/<compiler-generated>")
      let walk = function("$s4Club4walkyyF", "walk()", "Walk.swift")
      let main = function("main", "main", "main.swift")
      #expect(
        CapturedStack.callSite([core, getter, map, thunk, walk, main])
          == CallSite(function: "walk()", file: "Walk.swift", line: 1, property: "Team.name.getter"))
      #expect(CapturedStack.callSite([core, main])?.function == "main")
      #expect(CapturedStack.callSite([core, getter])?.function == "Team.name.getter")
      #expect(CapturedStack.callSite([core, function("_ZN3fooEv", "foo()")]) == nil)
      // Extensions of the library's and of others' types are the program's; the library's own are not.
      for (mangled, name) in [
        ("$s10StrataCore20ManagedObjectContextC4ClubE6reportyyF", "ManagedObjectContext.report()"),
        ("$sSa4ClubAA6PersonCRszlE5namesyyF", "Array<A>.names()"), ("$sSS4ClubE3fooyyF", "String.foo()"),
        ("$s10Foundation4DateV4ClubE3dayyyF", "Date.day()"),
      ] {
        let place = function(mangled, name, "Report.swift")
        #expect(CapturedStack.callSite([core, getter, place, main])?.function == name)
      }
      let own = function("$sSa10StrataCoreE6walkedyyF", "Array.walked()", "Core.swift")
      #expect(CapturedStack.callSite([core, own, walk, main])?.function == "walk()")
      // A computed property that walks is a place; the accessor that reads is none.
      let closure = function(
        "$s4Club6ReportC5namesSaySSGvgSSAA6PersonCXEfU_", "closure #1 in Report.names.getter", "Report.swift")
      let names = function("$s4Club6ReportC5namesSaySSGvg", "Report.names.getter", "Report.swift")
      #expect(
        CapturedStack.callSite([core, getter, closure, map, names, main])
          == CallSite(
            function: "closure #1 in Report.names.getter", file: "Report.swift", line: 1,
            property: "Team.name.getter"))
      #expect(CapturedStack.callSite([core, getter, names, main])?.function == "Report.names.getter")
    }

    @Test("messages at a level that the logger does not take go to standard error")
    func untaken() throws {
      let (quiet, kept) = InMemoryLogHandler.make(.info)
      let url = FileManager.default.temporaryDirectory.appendingPathComponent("stderr \(club.tag)")
      try Data().write(to: url)
      defer { try? FileManager.default.removeItem(at: url) }
      let (file, before) = (open(url.path, O_WRONLY | O_APPEND), dup(2))
      #expect(dup2(file, 2) == 2)
      defer {
        close(file)
        close(before)
      }
      do {
        defer { dup2(before, 2) }
        _ = try written {
          $0.logger = quiet
        } _: {
          ManagedObjectContext.debugOutput = .rows
          defer { ManagedObjectContext.debugOutput = [] }
          _ = try club.context().count(for: club.people())
          _ = Stranger.entity()
        }
      }
      let text = try String(contentsOf: url, encoding: .utf8)
      #expect(text.contains(club.tag))
      #expect(!text.contains("Stranger.entity()"))
      #expect(kept.entries.contains { $0.text.hasPrefix("Stranger.entity()") })
    }

    @Test(
      "an autosave that fails is a line without values, unless they are asked for", .timeLimit(.minutes(5)))
    func withoutValues() async throws {
      for includesValues in [false, true] {
        let (logger, handler) = InMemoryLogHandler.make()
        var options = Telemetry.Options()
        (options.logger, options.metrics, options.tracer) = (logger, nil, nil)
        options.includesValues = includesValues
        let telemetry = Telemetry.start(options)
        defer { telemetry.stop() }
        let container = PersistentContainer(name: "club", model: Club.model())
        try container.persistentStoreCoordinator.addPersistentStore(.inMemory)
        let stack = AsynchronousStack(container, autosaveDelay: .milliseconds(1))
        await stack.main.perform {
          for _ in 0..<2 { Person(context: stack.main).code = "anna@example.org" }
        }
        func line() -> String? { handler.entries.first { $0.text.hasPrefix("an autosave failed") }?.text }
        while line() == nil { await Task.yield() }
        let text = try #require(line())
        #expect(text.contains("anna@example.org") == includesValues, "\(text)")
        #expect(includesValues || text == "an autosave failed: CoreDataError 133021")
        await stack.main.perform { stack.main.reset() }
      }
    }

    #if os(Linux) && compiler(>=6.2)
      @Test("a place is named once, however often it is told")
      func remembered() throws {
        try club.fill(teams: 20, people: 1)
        var options = Telemetry.Options()
        (options.logger, options.metrics, options.tracer) = (logger, nil, nil)
        let telemetry = Telemetry.start(options)
        defer { telemetry.stop() }
        for _ in 0..<3 {
          let context = club.context()
          for person in try context.fetch(club.people()) { _ = person.team?.name }
        }
        telemetry.observer.awaitNaming()
        let lines = handler.entries.filter {
          $0.level == .warning && $0["context"]?.contains(club.tag) == true
        }
        #expect(lines.count == 3)
        #expect(lines.allSatisfy { $0["function"]?.contains("remembered") == true })
        #expect(telemetry.observer.places.namedCount == 1)
      }
    #endif

    @Test("while many places wait for their names, lines have addresses")
    func waitingPlaces() {
      let places = CallSites()
      let gate = DispatchSemaphore(value: 0)
      let answers = Names()
      for number in 0..<20 {
        places.name([UInt(number)]) {
          {
            gate.wait()
            return CallSite(function: "\(number)")
          }
        } _: { site in
          answers.add(site?.function)
        }
      }
      #expect(answers.list == [nil, nil, nil, nil])
      for _ in 0..<16 { gate.signal() }
      places.awaitNaming()
      #expect(answers.list.compactMap(\.self) == (0..<16).map { "\($0)" })
      places.name([3]) {
        { nil }
      } _: { site in
        answers.add(site?.function)
      }
      places.awaitNaming()
      #expect(answers.list.last == "3")
    }
  }
}
