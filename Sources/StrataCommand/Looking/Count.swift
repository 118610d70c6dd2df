import ArgumentParser
import Foundation
import StrataCore

/// How many objects there are.
struct Count: StoreTask {
  static let configuration = CommandConfiguration(
    abstract: "Counts the objects of an entity that satisfy a condition.")

  @OptionGroup var asking: Asking
  @Flag(help: "As JSON.") var json = false
  var subject: String? { asking.store }
  static let readsServers = true

  func perform() throws {
    try StorePath.read(asking.store) { window in
      let request = try asking.request(window)
      let count = try window.reading.fetch(request, mode: .count).count
      if json {
        try Output.current.json(["entity": .string(request.entity.name), "count": .number(count)])
      } else {
        try Output.current.line(String(count))
      }
    }
  }
}
