import CoreData
import Foundation
import StrataCore
import Testing

@Suite("The switch for the check of queues")
struct ConfinementSwitchTests {
  @Test("Launch argument and environment say on or off; the argument counts")
  func settings() {
    let flag = "-com.apple.CoreData.ConcurrencyDebug"
    func setting(_ arguments: [String], _ value: String? = nil) -> Bool? {
      NSManagedObjectContext.confinementSetting(
        ["program"] + arguments, value.map { ["STRATA_CHECK_CONFINEMENT": $0] } ?? [:])
    }
    #expect(setting([]) == nil && setting([flag]) == nil && setting([flag, "perhaps"]) == nil)
    #expect(setting([flag, "0"]) == false && setting([flag, "1"]) == true && setting([flag, "3"]) == true)
    #expect(setting([], "0") == false && setting([], "1") == true && setting([], "maybe") == nil)
    #expect(setting([flag, "0"], "1") == false && setting([flag, "1"], "0") == true)
    #expect(setting([flag], "1") == true)
    #expect(setting([flag, "1", flag, "0"]) == false)
  }

  @Test("Without the check, an access on another thread goes through; with it, it stops the process")
  func switched() async {
    await #expect(processExitsWith: .success) {
      NSManagedObjectContext.checksConfinement = false
      try #require(!NSManagedObjectContext.checksConfinement)
      try touchElsewhere()
    }
    await #expect(processExitsWith: .success) {
      setenv("STRATA_CHECK_CONFINEMENT", "0", 1)
      try touchElsewhere()
    }
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      NSManagedObjectContext.checksConfinement = true
      try touchElsewhere()
    }
    let words = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
    #expect(words.contains("was touched on the wrong queue"))
  }
}

/// Reads an object of a confinement context on another thread.
private func touchElsewhere() throws {
  let context = try BirdStand().stocked()
  // Carried by hand: the compiler would not let it go there.
  let bird = Unmanaged.passRetained(try context.fetch(NSFetchRequest<Bird>(entityName: "Bird"))[0])
  let address = Int(bitPattern: bird.toOpaque())
  let done = DispatchSemaphore(value: 0)
  let thread = Thread {
    guard let pointer = UnsafeRawPointer(bitPattern: address) else { return }
    _ = Unmanaged<Bird>.fromOpaque(pointer).takeRetainedValue().name
    done.signal()
  }
  thread.start()
  done.wait()
  withExtendedLifetime(context) {}
}
