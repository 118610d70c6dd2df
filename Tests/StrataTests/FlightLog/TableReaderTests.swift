import Foundation
import Testing

@testable import FlightLog

/// Rows of the tables, damaged lines, and the counts taken from the files.
struct TableReaderTests {
  /// A data folder of the five tables; the ones not given are empty but for their headers.
  static func makeData(_ tables: [String: String]) throws -> TemporaryFolder {
    let headers = [
      "airlines": "carrier,name",
      "airports": "faa,name,lat,lon,alt,tz,dst,tzone",
      "planes": "tailnum,year,type,manufacturer,model,engines,seats,speed,engine",
      "weather": "origin,temp,dewp,humid,wind_dir,wind_speed,wind_gust,precip,pressure,visib,time_hour",
      "flights": FlightRow.Column.allCases.map(\.name).joined(separator: ","),
    ]
    let folder = try TemporaryFolder()
    for (table, header) in headers {
      try folder.write(tables[table] ?? header + "\n", to: "\(table).csv")
    }
    return folder
  }

  private func readAirports(_ lines: String) throws -> (rows: [AirportRow], damages: [DamagedLine]) {
    let folder = try Self.makeData(["airports": "faa,name,lat,lon,alt,tz,dst,tzone\n" + lines])
    defer { folder.remove() }
    var damages: [DamagedLine] = []
    var reader = try TableReader<AirportRow>(DataFolder(folder.url)) { damages.append($0) }
    var rows: [AirportRow] = []
    while let row = try reader.next() { rows.append(row) }
    #expect(reader.damageCount == damages.count)
    return (rows, damages)
  }

  @Test func columnNamesAreSnakeCase() {
    #expect(FlightRow.Column.schedDepTime.name == "sched_dep_time")
    #expect(WeatherRow.Column.windDir.name == "wind_dir")
  }

  @Test func fieldsBecomeTypedValuesAndNABecomesNil() throws {
    let (rows, damages) = try readAirports("JFK,\"Kennedy, John F\",40.6,-73.7,13,-5,NA,\n")
    #expect(damages.isEmpty)
    let row = try #require(rows.first)
    #expect(row.name == "Kennedy, John F")
    #expect(row.longitude == -73.7)
    #expect(row.altitude == 13)
    #expect(row.daylightSaving == nil)
    #expect(row.timeZone == nil)
  }

  @Test func aFieldOfTheWrongTypeNamesFileLineAndColumn() throws {
    let (rows, damages) = try readAirports(
      "A,a,north,1,1,1,A,z\nB,b,1,1,1.5,1,A,z\n,c,1,1,1,1,A,z\nD,d,1,1,1,1,A,z\n")
    #expect(rows.map(\.faa) == ["D"])
    #expect(damages.map(\.line) == [2, 3, 4])
    #expect(
      damages[0].description == "airports.csv, line 2: lat is 'north', not a number; the line is left out")
    #expect(damages[1].reason == "alt is '1.5', not a whole number of 32 bits")
    #expect(damages[2].reason == "faa is missing")
  }

  @Test func aRepeatedKeyIsDamage() throws {
    let (rows, damages) = try readAirports("A,first,1,1,1,1,A,z\nA,second,1,1,1,1,A,z\nA,third,1,1,1,1,A,z\n")
    #expect(rows.map(\.name) == ["first"])
    #expect(damages.map(\.reason) == ["A stands already on line 2", "A stands already on line 2"])
  }

  @Test func textThatIsNotUTF8IsDamage() throws {
    let folder = try Self.makeData([:])
    defer { folder.remove() }
    try Data("carrier,name\nAA,\u{41}".utf8 + [0xFF, 0x0A] + "BB,b\n".utf8)
      .write(to: folder.url.appendingPathComponent("airlines.csv"))
    var reader = try TableReader<AirlineRow>(DataFolder(folder.url))
    #expect(try reader.next()?.carrier == "BB")
    #expect(try reader.next()?.carrier == nil)
    #expect(reader.damageCount == 1)
  }

  @Test(arguments: ["2013-02-31T10:00:00Z", "2013-01-01 10:00", "2013-01-01T10:00:00Zz", "yesterday"])
  func aTimeThatIsNoneIsDamage(text: String) throws {
    let folder = try Self.makeData([
      "weather": """
      origin,temp,dewp,humid,wind_dir,wind_speed,wind_gust,precip,pressure,visib,time_hour
      JFK,NA,NA,NA,NA,NA,NA,NA,NA,NA,\(text)
      JFK,NA,NA,NA,NA,NA,NA,NA,NA,NA,2013-02-28T10:00:00Z

      """
    ])
    defer { folder.remove() }
    var reader = try TableReader<WeatherRow>(DataFolder(folder.url))
    #expect(try reader.next()?.hour == Date(timeIntervalSince1970: 1_362_045_600))
    #expect(reader.damageCount == 1)
  }

  @Test func aMissingColumnOrTableIsOneSentence() throws {
    let folder = try Self.makeData(["airlines": "carrier,title\n"])
    defer { folder.remove() }
    let source = try DataFolder(folder.url)
    let noColumn = #expect(throws: FlightLogError.self) { try TableReader<AirlineRow>(source) }
    #expect(noColumn?.description.contains("has no column name") == true)
    try FileManager.default.removeItem(at: folder.url.appendingPathComponent("planes.csv"))
    let noTable = #expect(throws: FlightLogError.self) { try DataFolder(folder.url) }
    #expect(noTable?.description.contains("planes.csv or planes.csv.gz") == true)
  }

  /// The numbers were counted once with another program, Python's csv module.
  @Test func theFixtureCountsAsAnotherProgramCountedIt() throws {
    let tally = try FlightTally(of: DataFolder(DataFolder.fixture))
    #expect(
      tally.rows == ["airlines": 16, "airports": 1458, "planes": 3322, "weather": 5000, "flights": 20_000])
    #expect(tally.damages.values.allSatisfy { $0 == 0 })
    #expect(
      tally.flightsByCarrier == [
        "UA": 3445, "B6": 3320, "EV": 3072, "DL": 2734, "AA": 2075, "MQ": 1684, "9E": 1157, "US": 1149,
        "WN": 737, "FL": 243, "VX": 239, "AS": 46, "F9": 44, "YV": 32, "HA": 23,
      ])
    #expect(tally.flightsByRoute.count == 186)
    #expect(tally.flightsByRoute[.init(origin: "JFK", destination: "LAX")] == 698)
    #expect(tally.cancelledFlights == 178)
    #expect(tally.distanceFlown == 20_226_675)
    #expect(tally.longestDelays == [1301, 1126, 853, 599, 502, 478, 385, 379, 379, 366])
    #expect(tally.flightsOnFirstDay == 842)
    #expect(tally.oldPlanes == 25)
    #expect(tally.windyHours == 14)
    let expected = LinkTally(
      toAirlines: 20_000, toPlanes: 16_739, toOrigins: 20_000, toDestinations: 19_484, toWeather: 7_302,
      weatherToAirports: 5_000, flightsToMissing: ["SJU": 374, "BQN": 68, "STT": 52, "PSE": 22],
      flightsOfUnknownPlanes: 3_261)
    #expect(tally.links == expected)
    #expect(tally.flightsByPlane.count == 2_493)
    #expect(tally.flightsByPlane["N737MQ"] == 46)
    #expect(tally.weatherByAirport == ["EWR": 5_000])
  }
}
